/**
 * Attempts to escape: an ES module whose default export tries one thing, and reports `did` when it went
 * through. It is written to a file, so that it runs from the sources as from the package.
 */
export const PROBE_SCRIPT = `
const load = (name) => import("node:" + name);
const tries = {
  async read({ file }) { return (await load("fs")).readFileSync(file, "utf8"); },
  async write({ target }) { (await load("fs")).writeFileSync(target, "written"); return "written"; },
  async database({ database }) {
    const { DatabaseSync } = await load("sqlite");
    new DatabaseSync(database).exec("CREATE TABLE written (a)");
    return "opened";
  },
  async program({ node }) {
    const { status, error } = (await load("child_process")).spawnSync(node, ["--version"]);
    if (status === 0) return "started";
    throw error ?? new Error("status " + status);
  },
  async thread() {
    const { Worker } = await load("worker_threads");
    await new Worker("", { eval: true }).terminate();
    return "started";
  },
  async addon({ target }) {
    try { process.dlopen({ exports: {} }, target + ".node"); return "opened"; }
    catch (error) { if (error.code === "ERR_DLOPEN_FAILED") return "opened"; throw error; }
  },
  async environment() {
    const names = Object.keys(process.env);
    if (names.length > 0) return names.join(" ");
    throw new Error("it is empty");
  },
  tcp: ({ port }) => connect({ port, host: "127.0.0.1" }),
  socket: ({ socket }) => connect({ path: socket }),
  async signal({ gateway }) {
    process.kill(gateway, 0);
    return "could signal process " + gateway;
  },
  loop() { for (;;); },
  async heap() {
    const all = [];
    while (all.length < 4_000) all.push(new Array(131_072).fill(all));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    return all.length + " MB";
  },
  async buffers() {
    const all = [];
    while (all.length < 1_000) all.push(Buffer.alloc(1_048_576, 1));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    return all.length + " MB";
  },
};
async function connect(to) {
  const net = await load("net");
  return new Promise((resolve, reject) => net.connect(to).once("connect", () => resolve("connected")).once("error", reject));
}
export default async function attempt(name, given) {
  try { return { did: true, detail: String(await tries[name](given)).slice(0, 200) }; }
  catch (error) { return { did: false, detail: String(error && (error.code ?? error.message)) }; }
}
`;

/** Tries with nothing in its way but what no program can take down. */
export const PROBE_ENTRY = `
import { writeSync } from "node:fs";
import attempt from "./script.mjs";
const { names, given } = JSON.parse(process.argv[2]);
for (const name of names) writeSync(3, JSON.stringify({ name, ...(await attempt(name, given)) }) + "\\n");
process.exit(0);
`;

/** Tries as a transform. */
export const PROBE_TRANSFORM = `
import attempt from "./script.mjs";
export default ({ payload }) => attempt(payload.name, payload.given);
`;
