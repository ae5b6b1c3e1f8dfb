/**
 * Runs the program from its bundle: `node scripts/start.mjs <command>...`. The bundle is built first when a source
 * is newer.
 *
 * This file is JavaScript because the process that runs it becomes the gateway: Node's compiler for types costs
 * 11 MiB of memory there.
 */
import module from "node:module";
import { join } from "node:path";
import { builtFolder } from "./built-folder.mjs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  refuse(`This is Node ${process.versions.node}, and Reveille needs 24.16 or later.`);
}
const folder = builtFolder() ?? refuse("The packages that build the program are not installed.");
// What V8 makes of the bundle stays beside it: 60 of 380 ms of a start, for 1 MiB of memory.
module.enableCompileCache(join(folder, "code"));
await import(join(folder, "cli/main.js"));

/**
 * `npm ci --omit=dev` leaves out Node 24 and what builds the bundle.
 *
 * @param {string} missing
 * @returns {never}
 */
function refuse(missing) {
  console.error(`${missing} Run npm ci, which installs what is needed, with a Node of its own.
To run Reveille without these packages, make its package once where npm ci has run (npm pack) and install that:
npm install -g ./reveille-*.tgz. It brings one package, jiti, and needs Node 24.`);
  process.exit(1);
}
