import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { TransformsConfig } from "../../../config/transforms.ts";
import { TransformError } from "../../call.ts";
import { SandboxPool } from "../pool.ts";
import { killGroup, spawnSandbox } from "../spawn.ts";
import type { IsolationReport, SandboxIsolation } from "./describe.ts";
import { PROBE_ENTRY, PROBE_SCRIPT, PROBE_TRANSFORM } from "./probe-script.ts";

/** The result of one attempt. */
interface ProbeAttempt {
  readonly did: boolean;
  readonly detail: string;
}

interface ProbeAttemptsOptions {
  readonly isolation: SandboxIsolation;
  /** The script's folder, and its file. */
  readonly folder: string;
  readonly entry: string;
  readonly names: readonly string[];
  readonly given: object;
  readonly maxMemoryBytes: number;
}

const TIMEOUT_MS = 20_000;
const MAX_CHARACTERS = 65_536;

/**
 * Tries things in an isolated process from which no function was taken; by name of the thing. What
 * was not answered is missing.
 */
async function probeAttempts(options: ProbeAttemptsOptions): Promise<ReadonlyMap<string, ProbeAttempt>> {
  const { names, given, ...rest } = options;
  const { child, channel, stderr } = spawnSandbox({ ...rest, args: [JSON.stringify({ names, given })] });
  const patience = new AbortController();
  let said = "";
  channel.on("data", (chunk: Buffer) => {
    if (said.length < MAX_CHARACTERS) said += chunk.toString("utf8");
  });
  channel.on("error", () => {});
  stderr.resume();
  const closed = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  await Promise.race([closed, setTimeout(TIMEOUT_MS, undefined, { signal: patience.signal })]);
  patience.abort();
  killGroup(child.pid);
  return new Map(said.split("\n").flatMap((line) => readAttempt(line)));
}

function readAttempt(line: string): [string, ProbeAttempt][] {
  try {
    const { name, did, detail } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return [[String(name), { did: did !== false, detail: String(detail) }]];
  } catch {
    return [];
  }
}

interface IsolationCheck {
  readonly name: string;
  /** Continues "It cannot". */
  readonly action: string;
  /** The attempts that fail without any function being taken away. */
  readonly by: (isolation: SandboxIsolation) => string;
}

const MIB = 1_048_576;
const LIMITS: TransformsConfig = {
  isolation: "process",
  timeoutMs: 3_000,
  workers: 1,
  maxMemoryBytes: 192 * MIB,
  maxCalls: 1_000,
  maxWaiting: 100,
  maxResultBytes: MIB,
};
const PERMISSIONS = "Node's permission model";
const BY_NAME = "by name only";

const network = (isolation: SandboxIsolation): string =>
  isolation.network === "namespace" ? "network namespace" : isolation.network === "permission" ? PERMISSIONS : BY_NAME;

/** The attempts that must fail. */
const CHECKS: readonly IsolationCheck[] = [
  { name: "read", action: "read files outside of its folder", by: () => PERMISSIONS },
  { name: "write", action: "write files", by: () => PERMISSIONS },
  { name: "database", action: "open databases", by: () => "a flag of Node" },
  { name: "program", action: "start programs", by: () => PERMISSIONS },
  { name: "thread", action: "start threads", by: () => PERMISSIONS },
  { name: "addon", action: "load native code", by: () => PERMISSIONS },
  { name: "environment", action: "see the gateway's environment", by: () => "an empty environment" },
  { name: "tcp", action: "reach the network", by: network },
  {
    name: "socket",
    action: "reach sockets that are files, such as Docker's",
    by: ({ network }) => (network === "permission" ? PERMISSIONS : BY_NAME),
  },
  {
    name: "signal",
    action: "signal the gateway",
    by: ({ processes }) => (processes === "namespace" ? "process namespace" : BY_NAME),
  },
];

const TIMER = "the gateway's timer";
/** Enough for a machine that is very busy: what takes long to fill its memory is not to be taken for a loop. */
const FILLING_TIMEOUT_MS = 30_000;
const TRIES = 3;

/** The attempts that must end their process. */
const ENDS = [
  { name: "loop", action: "run for ever", by: TIMER, timeoutMs: LIMITS.timeoutMs },
  { name: "heap", action: "fill its JavaScript heap", by: "a flag of Node", timeoutMs: FILLING_TIMEOUT_MS },
  { name: "buffers", action: "fill the machine's memory", by: "the gateway's watch", timeoutMs: FILLING_TIMEOUT_MS },
] as const;

/**
 * Tries in real sandbox processes each thing that a transform must not do, and reports the results. Takes
 * some seconds.
 *
 * Things are first tried with every function of Node in its place; `by name only` means that they went
 * through then, and are stopped only by functions that are taken away, which someone may find a way around.
 */
export async function probeIsolation(isolation: SandboxIsolation): Promise<readonly IsolationReport[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reveille-probe-")));
  const server = createServer((socket) => socket.destroy());
  const local = createServer((socket) => socket.destroy());
  try {
    const given = await prepare(folder, server, local);
    const inside = join(folder, "inside");
    const names = CHECKS.map(({ name }) => name);
    const entry = join(inside, "entry.mjs");
    const bare = await probeAttempts({
      isolation,
      folder: inside,
      entry,
      names,
      given,
      maxMemoryBytes: LIMITS.maxMemoryBytes,
    });
    return await probeSandbox(isolation, { folder: inside, given, bare });
  } finally {
    await Promise.all([server, local].map((one) => new Promise((resolve) => one.close(resolve))));
    await rm(folder, { recursive: true, force: true });
  }
}

/** Lays out what is tried on. */
async function prepare(folder: string, server: Server, local: Server): Promise<object> {
  const inside = join(folder, "inside");
  await mkdir(inside);
  await writeFile(join(inside, "script.mjs"), PROBE_SCRIPT);
  await writeFile(join(inside, "entry.mjs"), PROBE_ENTRY);
  await writeFile(join(inside, "transform.mjs"), PROBE_TRANSFORM);
  const file = join(folder, "secret");
  await writeFile(file, randomUUID(), { mode: 0o600 });
  const socket = join(folder, "socket");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await new Promise<void>((resolve) => local.listen(socket, resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const target = join(folder, "written");
  return {
    file,
    target,
    database: join(folder, "database"),
    node: process.execPath,
    port,
    socket,
    gateway: process.pid,
  };
}

async function probeSandbox(
  isolation: SandboxIsolation,
  { folder, given, bare }: { folder: string; given: object; bare: ReadonlyMap<string, ProbeAttempt> },
): Promise<readonly IsolationReport[]> {
  const reports = await withPool({ isolation, folder, timeoutMs: LIMITS.timeoutMs }, async (pool) => {
    const found: IsolationReport[] = [];
    for (const check of CHECKS) {
      found.push(
        report(check, { isolation, bare: bare.get(check.name), inside: await tryInside(pool, check.name, given) }),
      );
    }
    return found;
  });
  for (const end of ENDS) reports.push(await probeEnd(end, { isolation, folder, given }));
  const { endsWithGateway: holds } = isolation;
  const action = "outlive a gateway that is killed while it is in a loop";
  return [...reports, { action, holds, by: holds ? "the kernel" : "nothing", isOptional: true }];
}

/** In a pool of its own, which nothing was tried in before. */
async function probeEnd(
  { name, action, by, timeoutMs }: (typeof ENDS)[number],
  { given, ...place }: { isolation: SandboxIsolation; folder: string; given: object },
): Promise<IsolationReport> {
  const { did, detail } = await withPool({ ...place, timeoutMs }, (pool) => tryInside(pool, name, given));
  if (did) return { action, holds: false, by: "nothing", detail };
  return { action, holds: true, by: detail.startsWith("took longer") ? TIMER : by, detail };
}

async function withPool<Found>(
  { isolation, folder, timeoutMs }: { isolation: SandboxIsolation; folder: string; timeoutMs: number },
  work: (pool: SandboxPool) => Promise<Found>,
): Promise<Found> {
  const pool = await SandboxPool.start({
    folder: { path: folder, name: "probe" },
    modules: [{ file: "transform.mjs", export: null }],
    limits: { ...LIMITS, timeoutMs },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    isolation,
  });
  try {
    return await work(pool);
  } finally {
    await pool.close();
  }
}

function report(
  { action, by }: IsolationCheck,
  { isolation, bare, inside }: { isolation: SandboxIsolation; bare: ProbeAttempt | undefined; inside: ProbeAttempt },
): IsolationReport {
  if (inside.did) return { action, holds: false, by: "nothing", detail: inside.detail };
  if (bare?.did === false) return { action, holds: true, by: by(isolation), detail: bare.detail };
  return { action, holds: true, by: BY_NAME, detail: bare?.detail ?? inside.detail };
}

/** An attempt that never began, since no process was ready in time, proves nothing, and is tried again. */
async function tryInside(pool: SandboxPool, name: string, given: object, tries = TRIES): Promise<ProbeAttempt> {
  const context = { payload: { name, given }, headers: {}, query: {}, path: "probe", now: new Date() };
  try {
    const value = await pool.call(0, {
      context: { ...context, event: undefined, actor: undefined },
      method: "POST",
      rawBody: new Uint8Array(),
      deliveryId: undefined,
    });
    // No one else has written the module.
    return value as ProbeAttempt;
  } catch (error) {
    if (!(error instanceof TransformError)) throw error;
    if (error.kind === "failed") return { did: false, detail: error.message };
    if (tries === 1) throw error;
    return await tryInside(pool, name, given, tries - 1);
  }
}
