import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killGroup } from "../../../src/transform/sandbox/spawn.ts";
import { spawnSandbox } from "../../../src/transform/sandbox/spawn.ts";
import type { SpawnedSandbox } from "../../../src/transform/sandbox/spawn.ts";
import type { SandboxIsolation } from "../../../src/transform/sandbox/isolation/describe.ts";

/** What came of an attempt: what it gave, or the code of the error that refused it. */
export type Attempt = { readonly done: string } | { readonly refused: string };

export type Attempts = Readonly<Record<keyof typeof TRIED, Attempt>>;

/** Everything that a sandbox process must not do, in its own words. */
const TRIED = {
  "read a file outside": `fs.readFileSync("/etc/hostname")`,
  "list a folder outside": `fs.readdirSync("/")`,
  "write a file": `fs.writeFileSync(AIMS.file, "x")`,
  "write beside itself": `fs.writeFileSync(new URL("written", import.meta.url), "x")`,
  "start a process": `child.spawnSync("true")`,
  "start a thread": `new Worker("", { eval: true })`,
  "load an addon": `process.dlopen({ exports: {} }, "/lib/none.node")`,
  "open the inspector": `inspector.open(0)`,
  "reach the network": `connected({ host: "127.0.0.1", port: AIMS.port })`,
  "signal the gateway": `process.kill(AIMS.pid, 0)`,
  "see the environment": `Object.keys(process.env).join() || Promise.reject(new Error("it is empty"))`,
} as const;

const HEAD = `import child from "node:child_process";
import fs from "node:fs";
import inspector from "node:inspector";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
const connected = (aim) => new Promise((resolve, reject) => connect(aim).on("connect", resolve).on("error", reject));
const attempt = async (act) => {
  try {
    return { done: String(await act()) };
  } catch (error) {
    return { refused: error.code ?? error.message };
  }
};`;

/** A process behind isolation, without what takes functions away from it by name: only the isolation themselves hold it. */
export class IsolationProbe implements Disposable {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "reveille-probe-")));
  readonly #server: Server;
  #sandbox: SpawnedSandbox | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<IsolationProbe> {
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new IsolationProbe(server);
  }

  /** Lets the process try everything; it is still there afterwards. */
  async run(isolation: SandboxIsolation): Promise<Attempts> {
    const address = this.#server.address();
    const aims = {
      file: join(this.#folder, "file"),
      port: typeof address === "object" ? address?.port : 0,
      pid: process.pid,
    };
    const tried = Object.entries(TRIED).map(([what, code]) => `${JSON.stringify(what)}: await attempt(() => ${code}),`);
    const text = `${HEAD}\nconst AIMS = ${JSON.stringify(aims)};\nconst results = {\n${tried.join("\n")}\n};
      fs.writeSync(3, JSON.stringify(results) + "\\n");\nsetInterval(() => {}, 1_000);\n`;
    this.#sandbox = this.#start(isolation, text);
    return JSON.parse(await firstLine(this.#sandbox)) as Attempts;
  }

  #start(isolation: SandboxIsolation, text: string): SpawnedSandbox {
    const entry = join(this.#folder, "entry.mjs");
    writeFileSync(entry, text);
    return spawnSandbox({ isolation, folder: this.#folder, maxMemoryBytes: 134_217_728, entry });
  }

  /** The process that was started: `unshare`, or Node itself. */
  get pid(): number | undefined {
    return this.#sandbox?.child.pid;
  }

  [Symbol.dispose](): void {
    killGroup(this.pid);
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function firstLine({ channel, child, stderr }: SpawnedSandbox): Promise<string> {
  let text = "";
  let complaint = "";
  stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  channel.on("data", (chunk: Buffer) => (text += chunk.toString()));
  while (!text.includes("\n")) {
    await new Promise<void>((resolve, reject) => {
      channel.once("data", () => resolve());
      child.once("close", () => reject(new Error(`It has ended: ${complaint}`)));
    });
  }
  return text;
}
