/**
 * `npm run torture [-- <kills> [<seed>]]`: kills a gateway under load, 200 times by default, at
 * every step and at random times, and checks that it keeps its promises. Ends with 1 when it does not.
 */
import { randomInt } from "node:crypto";
import { torture } from "./torture.ts";
import { tortureFigures } from "./torture-figures.ts";

const [kills = "200", seed = String(randomInt(1, 1_000_000_000))] = process.argv.slice(2);
console.log(`${kills} kills, seed ${seed}; repeat with: npm run torture -- ${kills} ${seed}`);
let carriedOut = 0;
const result = await torture({
  kills: Number(kills),
  seed: Number(seed),
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
for (const [promise, violations] of Object.entries(result.violations)) {
  console.log(`${violations.length === 0 ? "kept  " : "BROKEN"} ${promise}`);
  for (const violation of violations.slice(0, 20)) console.log(`       ${violation}`);
  if (violations.length > 20) console.log(`       and ${violations.length - 20} more`);
}
process.exitCode = Object.values(result.violations).some((violations) => violations.length > 0) ? 1 : 0;
