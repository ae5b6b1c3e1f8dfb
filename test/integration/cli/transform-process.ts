import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

const cli = join(import.meta.dirname, "../../../scripts/start.mjs");

/** The program with a home folder and a folder for temporary files of its own, as a process. */
export class TransformProcess implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "reveille-cli-process-"));
  readonly transforms = join(this.folder, ".reveille", "hooks", "transforms");
  readonly temporary = join(this.folder, "tmp");
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #closed: Promise<number | null> | undefined;
  out = "";
  err = "";

  constructor(hooks: object = {}) {
    mkdirSync(this.transforms, { recursive: true });
    mkdirSync(this.temporary);
    const config = {
      gateway: { auth: { token: "gateway-token-of-these-tests" } },
      hooks: { enabled: true, token: "hook-token-of-these-tests-here", ...hooks },
    };
    writeFileSync(join(this.folder, ".reveille", "reveille.json5"), JSON.stringify(config), { mode: 0o600 });
  }

  module(name: string, text: string): void {
    writeFileSync(join(this.transforms, name), text);
  }

  start(...args: readonly string[]): ChildProcessByStdio<Writable, Readable, Readable> {
    this.out = "";
    this.err = "";
    const { folder: HOME, temporary: TMPDIR } = this;
    const env = { ...process.env, HOME, TMPDIR, REVEILLE_CONFIG: "", REVEILLE_STATE_DIR: "" };
    const child = spawn(process.execPath, [cli, ...args], { cwd: this.folder, env, stdio: ["pipe", "pipe", "pipe"] });
    child.stdout.setEncoding("utf8").on("data", (text: string) => (this.out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.err += text));
    this.#child = child;
    this.#closed = new Promise((resolve) => child.once("close", (code) => resolve(code)));
    return child;
  }

  /** The exit code; `null` when a signal ended it. */
  async ended(): Promise<number | null | undefined> {
    return await this.#closed;
  }

  /** Waits until something was printed. */
  async printed(pattern: RegExp, timeoutMs = 100_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!pattern.test(this.out)) {
      if (Date.now() > deadline) throw new Error(`It was not printed: ${pattern.source}\n${this.out}\n${this.err}`);
      await sleep(20);
    }
  }

  /** Processes that read something in the folder for temporary files: its sandboxes. */
  sandboxes(): readonly string[] {
    return readdirSync("/proc").filter((name) => /^\d+$/u.test(name) && commandLine(name).includes(this.temporary));
  }

  /** Waits until a sandbox has computed longer than it takes to load a module, as one does that is in an endless loop. */
  async computing(timeoutMs = 100_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!this.sandboxes().some((pid) => computedSeconds(pid) > 4)) {
      if (Date.now() > deadline) throw new Error(`No sandbox computes.\n${this.out}\n${this.err}`);
      await sleep(20);
    }
  }

  /** Waits until no sandbox is left; gives those that still are. */
  async sandboxesLeft(): Promise<readonly string[]> {
    const deadline = Date.now() + 15_000;
    while (this.sandboxes().length > 0 && Date.now() < deadline) await sleep(20);
    return this.sandboxes();
  }

  [Symbol.dispose](): void {
    this.#child?.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function commandLine(pid: string): string {
  return textOf(`/proc/${pid}/cmdline`);
}

/** Time of the processor that it has used, which Linux counts in hundredths of a second. */
function computedSeconds(pid: string): number {
  const fields = textOf(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
