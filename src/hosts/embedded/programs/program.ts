/** A program that the gateway starts: its environment, its confinement, its process group and its end. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../../../core/reason-of.ts";
import type { ProgramConfig } from "../config/runtime.ts";
import { confine, confinedCommand, CONFINEMENT_ADVICE, type ConfineReport, temporaryFolder } from "./confinement.ts";

/** Where and how a program runs. */
export interface ProgramStart {
  readonly config: Pick<ProgramConfig, "command" | "env" | "read" | "write" | "isConfined">;
  /** Absolute; made when it is missing. */
  readonly cwd: string;
  /** The program may not write in `cwd`; only a confined one is kept from it. */
  readonly isReadOnly: boolean;
  /** Its home, absolute; made when it is missing. */
  readonly home: string;
  /** The home that it sees where that is another one, which is not made. */
  readonly userHome?: string;
  /** Hosts that it can reach when it is confined. */
  readonly egress: readonly string[];
  /** Folders and files of the gateway that are closed to it when it is confined. */
  readonly ofGateway: readonly string[];
  /** Further variables. */
  readonly variables: Readonly<Record<string, string>>;
  readonly onRefusedHost?: ((host: string) => void) | undefined;
  /** The gateway's environment, of which it gets what the configuration names. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The exit status, or the signal that ended it. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly killedBy: NodeJS.Signals | null;
}

/** The program could not be started, or not be confined; the message says what to do. */
export class ProgramStartError extends Error {
  override readonly name = "ProgramStartError";
}

interface ProgramParts extends Pick<ProgramStart, "onRefusedHost"> {
  readonly watchdog: ChildProcess;
  /** Its folder of temporary files, which goes with it. */
  readonly temporary: string;
}

/** Between the request to end and the end by force. */
const GRACE_MS = 500;
const WATCHDOG_GRACE_SECONDS = 1;
const BASE_VARIABLES = ["PATH", "LANG", "LC_ALL", "TZ"] as const;

/**
 * A running program. It leads a process group of its own, which ends with it: what it left behind would hold its
 * output open, and go on after it.
 */
export class Program {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves once nothing of its group writes any more, and its temporary files are gone. Rejects when the machine cannot confine it. */
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #watchdog: ChildProcess;
  readonly #temporary: string;
  #problem: string | undefined;
  #isEnding = false;

  /** Rejects with a {@link ProgramStartError}. */
  static async start(start: ProgramStart): Promise<Program> {
    const { config, cwd, home, userHome = home } = start;
    if (config.isConfined) refuseOwnFolders(start);
    const env = environmentOf(start);
    let temporary: string | undefined;
    try {
      for (const folder of [cwd, temporaryFolder(home)]) await mkdir(folder, { recursive: true, mode: 0o700 });
      // Of this program alone: another one of the agent may run beside it, and outlive it.
      temporary = await mkdtemp(join(temporaryFolder(home), "r"));
      const variables = { ...start.variables, HOME: userHome, TMPDIR: temporary };
      const words = config.isConfined
        ? confinedCommand(confine({ ...start, read: config.read, write: config.write }), {
            command: config.command,
            variables,
          })
        : config.command;
      const [file = "", ...args] = words;
      const child = spawn(file, args, {
        cwd,
        env: config.isConfined ? env : { ...env, ...variables },
        detached: true,
        stdio: ["pipe", "pipe", "pipe", config.isConfined ? "ipc" : "ignore"],
      }) as ChildProcessWithoutNullStreams;
      await once(child, "spawn");
      const watchdog = watch(child.pid!, config.isConfined ? WATCHDOG_GRACE_SECONDS : 0);
      return new Program(child, { watchdog, temporary, onRefusedHost: start.onRefusedHost });
    } catch (error) {
      await remove(temporary);
      const [name = ""] = config.command;
      throw new ProgramStartError(`The program ${JSON.stringify(name)} could not be started: ${reasonOf(error)}`);
    }
  }

  private constructor(child: ChildProcessWithoutNullStreams, { watchdog, temporary, onRefusedHost }: ProgramParts) {
    this.#child = child;
    this.#watchdog = watchdog;
    this.#temporary = temporary;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    // A program need not read its input to the end.
    child.stdin.on("error", () => undefined);
    child.on("error", () => undefined);
    child.on("message", (report: ConfineReport) => {
      if ("problem" in report) this.#problem ??= report.problem;
      else onRefusedHost?.(report.refusedHost);
    });
    this.ended = this.#wait();
    // Whoever waits for it gets the error.
    this.ended.catch(() => undefined);
  }

  /** True as soon as it was asked to end. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Asks the group to end, and ends it by force a moment later. */
  async end(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#kill("SIGTERM");
    await sleep(GRACE_MS);
    this.#kill("SIGKILL");
  }

  async #wait(): Promise<ProgramEnd> {
    const [code, killedBy] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    this.#watchdog.kill("SIGKILL");
    this.#kill("SIGKILL");
    await remove(this.#temporary);
    if (this.#problem !== undefined) {
      throw new ProgramStartError(
        `The program cannot be confined here: ${this.#problem}. Do one of two: ${CONFINEMENT_ADVICE}; or write isolation: "none" to start it without.`,
      );
    }
    return { code, killedBy };
  }

  #kill(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.#child.pid!, signal);
    } catch {
      // Nothing of the group is left.
    }
  }
}

/** What a program has made so that it cannot be removed stays. */
async function remove(folder: string | undefined): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
}

/** What is opened to a program would open the gateway's own folder with it, when it is that folder. */
function refuseOwnFolders({ config, cwd, ofGateway }: ProgramStart): void {
  const own = new Set(ofGateway.map(realPath));
  const opened = [cwd, ...config.read, ...config.write].find((path) => own.has(realPath(path)));
  if (opened === undefined) return;
  throw new ProgramStartError(
    `The program ${JSON.stringify(config.command[0])} is not started: ${opened} holds what is the gateway's own, which a confined program must not read; give it another folder.`,
  );
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * A process that ends the group when this one is gone, also when it was killed: then its standard input is closed. It
 * gives a program that confines another one time to clear up first.
 */
function watch(group: number, graceSeconds: number): ChildProcess {
  const watchdog = spawn("sh", ["-c", `read -r _; sleep ${graceSeconds}; kill -KILL -${group}`], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: process.env["PATH"] },
  });
  watchdog.on("error", () => undefined);
  watchdog.stdin.on("error", () => undefined);
  watchdog.unref();
  return watchdog;
}

/** What a program says, to its end; more than `maxBytes` is read and dropped, so that it is not held up. */
export class Output {
  readonly #chunks: Buffer[] = [];
  readonly #maxBytes: number;
  #bytes = 0;
  readonly #closed: Promise<unknown>;

  constructor(stream: Readable, maxBytes: number, onCut?: () => void) {
    this.#maxBytes = maxBytes;
    this.#closed = once(stream, "close");
    this.#closed.catch(() => undefined);
    stream.on("data", (chunk: Buffer) => {
      if (this.#bytes <= maxBytes && this.#bytes + chunk.length > maxBytes) onCut?.();
      if (this.#bytes < maxBytes) this.#chunks.push(chunk.subarray(0, maxBytes - this.#bytes));
      this.#bytes += chunk.length;
    });
  }

  get isCut(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  /** What has come so far. */
  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }

  /** Resolves with all of it when the stream has closed. */
  async whole(): Promise<string> {
    await this.#closed;
    return this.text;
  }
}

/** Nothing of the gateway's own environment but what is listed: it may hold tokens. */
function environmentOf({ config, home, env = process.env }: ProgramStart): Record<string, string> {
  const named = [...BASE_VARIABLES, ...config.env].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { HOME: home, ...Object.fromEntries(named) };
}
