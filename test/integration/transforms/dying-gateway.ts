/**
 * Run as a process: starts a sandbox process behind the isolation of this machine, tells the id of what it has
 * started, and waits to be killed. `node dying-gateway.ts <folder>`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { detectIsolation } from "../../../src/transform/sandbox/isolation/detect.ts";
import { spawnSandbox } from "../../../src/transform/sandbox/spawn.ts";

const folder = process.argv[2] ?? "";
const entry = join(folder, "entry.mjs");
writeFileSync(entry, `import { writeSync } from "node:fs"; writeSync(3, "up"); for (;;);`);
const { child, channel } = spawnSandbox({
  isolation: await detectIsolation(),
  folder,
  maxMemoryBytes: 134_217_728,
  entry,
});
child.once("close", () => process.exit(1));
channel.once("data", () => console.log(child.pid));
setInterval(() => {}, 1_000);
