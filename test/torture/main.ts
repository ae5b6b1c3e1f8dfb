/**
 * `npm run torture [-- [--store postgres] [<kills> [<seed>]]]`: kills a gateway under load, 200 times by default, at
 * every step and at random times, and checks that it keeps its promises. Ends with 1 when it does not. With
 * `--store postgres` its deliveries are in a PostgreSQL server of its own.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { migrate } from "../../src/storage/postgres/migrate.ts";
import { startServer } from "../fixtures/postgres/server.ts";
import { torture } from "./torture.ts";
import { tortureFigures } from "./torture-figures.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { store: { type: "string", default: "sqlite" } },
});
if (!["sqlite", "postgres"].includes(values.store)) throw new Error("--store is sqlite or postgres.");
const [kills = "200", seed = String(randomInt(1, 1_000_000_000))] = positionals;
console.log(`${kills} kills, seed ${seed}; repeat with: npm run torture -- --store ${values.store} ${kills} ${seed}`);
const server = values.store === "postgres" ? await startServer() : undefined;
if (server !== undefined) await migrate(server.url);
let carriedOut = 0;
const result = await torture({
  kills: Number(kills),
  seed: Number(seed),
  ...(server !== undefined && { databaseUrl: server.url }),
  onKill: ({ planned, reached }) => {
    carriedOut++;
    const how =
      planned.kind === "step"
        ? `${planned.fault}${reached ? "" : " (not met)"}`
        : `${planned.afterMs} ms after ${planned.after}`;
    console.log(`kill ${carriedOut}: ${how}`);
  },
});
await server?.dispose();
console.log(`\n${tortureFigures(result).join("\n")}\n`);
for (const [promise, violations] of Object.entries(result.violations)) {
  console.log(`${violations.length === 0 ? "kept  " : "BROKEN"} ${promise}`);
  for (const violation of violations.slice(0, 20)) console.log(`       ${violation}`);
  if (violations.length > 20) console.log(`       and ${violations.length - 20} more`);
}
process.exitCode = Object.values(result.violations).some((violations) => violations.length > 0) ? 1 : 0;
