import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Duplex, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { FrameReader, encodeFrame } from "../../../../../src/transform/sandbox/frames.ts";
import type { SandboxModule, SandboxReply, SandboxRequest } from "../../../../../src/transform/sandbox/messages.ts";
import type { ContextFields } from "../../../../../src/transform/context.ts";

type Reply<Kind extends SandboxReply["is"]> = Extract<SandboxReply, { is: Kind }>;

const SOURCES = fileURLToPath(new URL("../../../../../src/", import.meta.url));
const WORKER = join(SOURCES, "transform", "sandbox", "worker", "sandbox-worker.ts");
const JITI = dirname(createRequire(import.meta.url).resolve("jiti/package.json"));

/** What the process reads besides the modules. */
const READABLE = [
  join(SOURCES, "transform"),
  join(SOURCES, "core", "payload-path.ts"),
  join(SOURCES, "core", "payload-text.ts"),
  JITI,
];

/** A real sandbox process over a folder of modules, without namespaces, spoken to in frames. */
export class WorkerHarness implements AsyncDisposable {
  readonly outer = realpathSync(mkdtempSync(join(tmpdir(), "reveille-worker-")));
  readonly base = join(this.outer, "transforms");
  readonly child: ChildProcess;
  readonly channel: Duplex;
  readonly replies: SandboxReply[] = [];
  stderr = "";
  readonly exited: Promise<unknown>;
  #lastId = 0;
  readonly #waiting = new Set<() => void>();

  constructor(
    files: Readonly<Record<string, string>>,
    { env = {}, isGrandchild = false }: { env?: NodeJS.ProcessEnv; isGrandchild?: boolean } = {},
  ) {
    mkdirSync(this.base);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.base, name)), { recursive: true });
      writeFileSync(join(this.base, name), text);
    }
    const readable = [this.base, ...READABLE].map((path) => `--allow-fs-read=${path}`);
    const args = ["--permission", ...readable, "--no-warnings", "--no-experimental-sqlite", WORKER];
    const [program = "", ...rest] = isGrandchild
      ? grandchild([process.execPath, ...args])
      : [process.execPath, ...args];
    this.child = spawn(program, rest, { cwd: "/", env, stdio: ["ignore", "ignore", "pipe", "pipe"] });
    this.exited = once(this.child, "exit");
    (this.child.stderr as Readable).on("data", (text) => (this.stderr += String(text)));
    this.channel = this.child.stdio[3] as Duplex;
    const reader = new FrameReader({ maxJsonBytes: 10_000_000, maxBodyBytes: 0 });
    this.channel.on("error", () => {});
    this.channel.on("data", (chunk: Buffer) => {
      reader.push(chunk, ({ json }) => this.replies.push(JSON.parse(json) as SandboxReply));
      this.#wake();
    });
    this.child.on("close", () => this.#wake());
  }

  link(name: string, target: string): void {
    symlinkSync(target, join(this.base, name));
  }

  send(request: SandboxRequest, body?: Uint8Array): void {
    this.channel.write(Buffer.concat(encodeFrame(JSON.stringify(request), body)));
  }

  /** Waits for a reply that fits and takes it; rejects when the process ends before. */
  async take<Kind extends SandboxReply["is"]>(...kinds: readonly Kind[]): Promise<Reply<Kind>> {
    for (;;) {
      const at = this.replies.findIndex(({ is }) => (kinds as readonly string[]).includes(is));
      if (at >= 0) return this.replies.splice(at, 1)[0] as Reply<Kind>;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`the process has ended: ${this.child.exitCode ?? this.child.signalCode} ${this.stderr}`);
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }

  /** Loads modules; a text is a file's default export. */
  async load(modules: readonly (string | SandboxModule)[], maxResultBytes = 100_000): Promise<Reply<"loaded">> {
    const list = modules.map((module) => (typeof module === "string" ? { file: module, export: null } : module));
    const folder = { path: this.base, name: "hooks/transforms" };
    this.send({ do: "load", folder, modules: list, maxResultBytes });
    return await this.take("loaded");
  }

  /** Sends a call without waiting, and tells its id. */
  begin(payload: unknown = {}, options: { module?: number; fields?: Partial<ContextFields>; body?: Uint8Array } = {}) {
    const { module = 0, fields, body = Buffer.from(JSON.stringify(payload)) } = options;
    const id = ++this.#lastId;
    const context = { payload, headers: {}, query: {}, path: "x", method: "POST", time: 0, ...fields };
    this.send({ do: "call", id, module, readsBody: false, context }, body);
    return id;
  }

  /** What a call returned, or `{ failed }`. */
  async call(...args: Parameters<WorkerHarness["begin"]>): Promise<unknown> {
    const id = this.begin(...args);
    const reply = await this.take("returned", "failed");
    if (reply.id !== id) throw new Error(`call ${id} was answered as ${reply.id}`);
    return reply.is === "returned" ? reply.value : { failed: reply.reason };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
    this.channel.destroy();
    rmSync(this.outer, { recursive: true });
  }
}

/** The same as the child of another process, which does nothing. */
function grandchild(command: readonly string[]): readonly string[] {
  return ["/bin/sh", "-c", '"$@" & exec sleep 600', "sh", ...command];
}

/** A process with one module, loaded. */
export async function workerWith(text: string, file = "a.ts"): Promise<WorkerHarness> {
  const worker = new WorkerHarness({ [file]: text });
  const { failures } = await worker.load([file]);
  if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join("; "));
  return worker;
}

/** A module that does what the payload says, by its own words, and can do something ordinary after. */
export async function obedientWorker(): Promise<WorkerHarness> {
  return await workerWith(`
    import module from "node:module";
    const require = module.createRequire(import.meta.url);
    const AsyncFunction = (async () => {}).constructor;
    export default async ({ payload }) => {
      if (!payload.code) return { message: "ordinary" };
      return await new AsyncFunction("require", "payload", payload.code)(require, payload);
    };`);
}
