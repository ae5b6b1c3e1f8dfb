import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, resolve } from "node:path";
import { Duplex, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { SandboxIsolation } from "./isolation/describe.ts";

export interface SpawnSandboxOptions {
  readonly isolation: SandboxIsolation;
  /** The snapshot: the only folder of the operator's that the process reads. */
  readonly folder: string;
  readonly maxMemoryBytes: number;
  /** The program, whose imports are all in the same folder; default: the sandbox's own worker. */
  readonly entry?: string | undefined;
  /** Its arguments in process.argv. */
  readonly args?: readonly string[];
}

export interface SpawnedSandbox {
  readonly child: ChildProcess;
  /** File descriptor 3. */
  readonly channel: Duplex;
  readonly stderr: Readable;
}

const MIB = 1_048_576;
/** Below the gateway, so that a loop inside of a sandbox does not slow it. */
const PRIORITY = 10;
/**
 * Memory that Node reserves without using it; the rest may be used up. It is the second bound of memory: the
 * gateway looks at it every few milliseconds, and a gateway that is busy looks late.
 */
const RESERVED_BYTES = 1_024 * MIB;

/**
 * `node:sqlite` opens any file, for reading and for writing: Node's permission model does not cover it
 * (tried on 24.21). Node refuses to start when it does not know a flag.
 */
const OPTIONAL_FLAGS = ["--no-experimental-sqlite", "--disable-sigusr1", "--no-addons", "--no-global-search-paths"];

const OWN_FILE = fileURLToPath(import.meta.url);
const IS_BUNDLED = extname(OWN_FILE) === ".js";
/** The folders of the sources from which the worker imports. */
const SOURCE_FOLDERS = ["transform", "core"];

/** The JavaScript heap of a process that may have `maxMemoryBytes`, in MiB. */
export function heapMegabytes(maxMemoryBytes: number): number {
  return Math.floor(maxMemoryBytes / 2 / MIB);
}

/** One of the three parts of its young generation, which counts besides; Node's own measure is 16. */
function youngMegabytes(maxMemoryBytes: number): number {
  return Math.min(16, Math.max(1, Math.floor(maxMemoryBytes / 32 / MIB)));
}

/**
 * Starts an isolated process: no environment, nothing to read but the snapshot and the loader, and a
 * process group of its own.
 *
 * Never throws for a program that cannot be run, or when no more files can be opened: the child then emits
 * `error`, which ends nothing when no one listens, and its streams stay silent.
 */
export function spawnSandbox(options: SpawnSandboxOptions): SpawnedSandbox {
  const [program = process.execPath, ...args] = sandboxCommand(options);
  const child = spawn(program, args, {
    cwd: "/",
    env: {},
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    detached: true,
    windowsHide: true,
  });
  child.on("error", () => {});
  // Node makes no streams when there was no file descriptor for them.
  const streams = child.stdio as ChildProcess["stdio"] | undefined;
  const [, , stderr = null, channel = null] = streams ?? [];
  return {
    child,
    channel: channel instanceof Duplex ? channel : silentChannel(),
    stderr: stderr instanceof Readable ? stderr : Readable.from([]),
  };
}

function silentChannel(): Duplex {
  return new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
}

/** The command line, the program first. */
export function sandboxCommand({
  isolation,
  folder,
  maxMemoryBytes,
  entry,
  args = [],
}: SpawnSandboxOptions): readonly string[] {
  const worker = entry ?? ownWorker();
  const readable = entry === undefined ? loaderFiles() : [dirname(realpathSync(entry))];
  return [
    ...priority(isolation),
    ...limits(isolation, maxMemoryBytes),
    ...isolation.command,
    process.execPath,
    "--permission",
    ...[realpathSync(folder), ...readable].map((path) => `--allow-fs-read=${grantable(path)}`),
    `--max-old-space-size=${heapMegabytes(maxMemoryBytes)}`,
    `--max-semi-space-size=${youngMegabytes(maxMemoryBytes)}`,
    "--no-warnings",
    ...OPTIONAL_FLAGS.filter((flag) => process.allowedNodeEnvironmentFlags.has(flag)),
    ...linkFlags(),
    worker,
    ...args,
  ];
}

/** First, and by a program: once Node has threads, or `unshare` a child, it would not be theirs. */
function priority({ nice }: SandboxIsolation): readonly string[] {
  return nice === undefined ? [] : [nice, "-n", `${PRIORITY}`];
}

/** They hold for everything that is started in their place. */
function limits({ prlimit }: SandboxIsolation, maxMemoryBytes: number): readonly string[] {
  if (prlimit === undefined) return [];
  return [prlimit, "--core=0", "--fsize=0", `--data=${RESERVED_BYTES + maxMemoryBytes}`];
}

/** Sources run as `.ts`, the bundle as `.js`. */
function ownWorker(): string {
  return join(dirname(OWN_FILE), "worker", `sandbox-worker${extname(OWN_FILE)}`);
}

/**
 * The code that runs inside the sandbox, which is the same for every gateway. The bundle shares chunks between its
 * entries; the sources have folders. Jiti is a package.
 */
function loaderFiles(): readonly string[] {
  const root = resolve(OWN_FILE, "../../..");
  const own = IS_BUNDLED ? [root] : SOURCE_FOLDERS.map((name) => join(root, name));
  const paths = [...own, jitiFolder()];
  return [...new Set([...paths, ...paths.map((path) => realpathSync(path))])];
}

/** Node looks at every link on the way to what it imports, which it may not; some package managers link everything. */
function linkFlags(): readonly string[] {
  const jiti = jitiFolder();
  return realpathSync(jiti) === jiti ? [] : ["--preserve-symlinks"];
}

/** The path at which Node finds it, which may be a link. */
function jitiFolder(): string {
  const places = createRequire(import.meta.url).resolve.paths("jiti") ?? [];
  const found = places.map((place) => join(place, "jiti")).find((path) => existsSync(path));
  if (found === undefined) throw new Error("the package jiti is not installed; install the gateway again");
  return found;
}

function grantable(path: string): string {
  if (path.includes("*")) throw new Error(`${path} has a "*" in it, which Node takes for any text; rename the folder`);
  return path;
}

/** Ends a detached child and all that it has started. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
