/**
 * `npm run torture [-- [--store postgres [--gateways <number>]] [<kills> [<seed>]]]`: kills a gateway under load, 200 times by default, at
 * every step and at random times, and checks that it keeps its promises. Ends with 1 when it does not. With
 * `--store postgres` its deliveries are in a PostgreSQL server of its own, and with `--gateways` as many use it: one
 * after the other is killed, frozen or cut off.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { migrate } from "../../src/storage/postgres/migrate.ts";
import { startServer } from "../fixtures/postgres/server.ts";
import { severalFigures } from "./several-figures.ts";
import { type Fault, tortureSeveral } from "./several-gateways.ts";
import { torture } from "./torture.ts";
import { tortureFigures } from "./torture-figures.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { store: { type: "string", default: "sqlite" }, gateways: { type: "string", default: "1" } },
});
if (!["sqlite", "postgres"].includes(values.store)) throw new Error("--store is sqlite or postgres.");
const [kills = "200", seed = String(randomInt(1, 1_000_000_000))] = positionals;
console.log(
  `${kills} kills, seed ${seed}; repeat with: npm run torture -- --store ${values.store} --gateways ${values.gateways} ${kills} ${seed}`,
);
const server = values.store === "postgres" ? await startServer() : undefined;
if (server !== undefined) await migrate(server.url);
const violations = values.gateways === "1" ? await tortureOne() : await tortureAll();
await server?.dispose();
for (const [promise, broken] of Object.entries(violations)) {
  console.log(`${broken.length === 0 ? "kept  " : "BROKEN"} ${promise}`);
  for (const violation of broken.slice(0, 20)) console.log(`       ${violation}`);
  if (broken.length > 20) console.log(`       and ${broken.length - 20} more`);
}
process.exitCode = Object.values(violations).some((broken) => broken.length > 0) ? 1 : 0;

async function tortureOne(): Promise<Readonly<Record<string, readonly string[]>>> {
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
  console.log(`\n${tortureFigures(result).join("\n")}\n`);
  return result.violations;
}

/** Of five faults three kill; a frozen gateway and one that is cut off take seconds each. */
async function tortureAll(): Promise<Readonly<Record<string, readonly string[]>>> {
  if (server === undefined) throw new Error("Several gateways need --store postgres.");
  const cycle: readonly Fault[] = ["SIGKILL", "SIGSTOP", "SIGKILL", "cut", "SIGKILL"];
  let carriedOut = 0;
  const result = await tortureSeveral({
    databaseUrl: server.url,
    gateways: Number(values.gateways),
    faults: Array.from({ length: Number(kills) }, (_, number) => cycle[number % cycle.length]!),
    seed: Number(seed),
    onFault: ({ fault, isLead }) => {
      console.log(`fault ${++carriedOut}: ${fault}${isLead ? " of the gateway with the runs" : ""}`);
    },
  });
  console.log(`\n${severalFigures(result).join("\n")}\n`);
  return result.violations;
}
