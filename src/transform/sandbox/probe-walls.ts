import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TransformsConfig } from "../../config/hooks-config.ts";
import { probeAttempts } from "./probe-attempts.ts";
import type { Attempt } from "./probe-attempts.ts";
import { PROBE_ENTRY, PROBE_SCRIPT, PROBE_TRANSFORM } from "./probe-script.ts";
import { SandboxPool } from "./sandbox-pool.ts";
import type { SandboxWalls, WallReport } from "./walls.ts";

interface Wall {
  readonly name: string;
  /** Continues "It cannot". */
  readonly wall: string;
  /** What holds without any function being taken away. */
  readonly by: (walls: SandboxWalls) => string;
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

const network = (walls: SandboxWalls): string =>
  walls.network === "namespace" ? "network namespace" : walls.network === "permission" ? PERMISSIONS : BY_NAME;

/** What must not go through. */
const WALLS: readonly Wall[] = [
  { name: "read", wall: "read files outside of its folder", by: () => PERMISSIONS },
  { name: "write", wall: "write files", by: () => PERMISSIONS },
  { name: "database", wall: "open databases", by: () => "a flag of Node" },
  { name: "program", wall: "start programs", by: () => PERMISSIONS },
  { name: "thread", wall: "start threads", by: () => PERMISSIONS },
  { name: "addon", wall: "load native code", by: () => PERMISSIONS },
  { name: "environment", wall: "see the gateway's environment", by: () => "an empty environment" },
  { name: "tcp", wall: "reach the network", by: network },
  {
    name: "socket",
    wall: "reach sockets that are files, such as Docker's",
    by: ({ network }) => (network === "permission" ? PERMISSIONS : BY_NAME),
  },
  {
    name: "signal",
    wall: "signal the gateway",
    by: ({ processes }) => (processes === "namespace" ? "process namespace" : BY_NAME),
  },
];

/** What has to end its process. */
const ENDS = [
  { name: "loop", wall: "run for ever", by: "the gateway's timer" },
  { name: "heap", wall: "fill its JavaScript heap", by: "a flag of Node" },
  { name: "buffers", wall: "fill the machine's memory", by: "the gateway's watch" },
] as const;

/**
 * Tries in real sandbox processes each thing that a transform must not do, and tells what came of it. Takes
 * some seconds.
 *
 * Things are first tried with every function of Node in its place; `by name only` means that they went
 * through then, and are stopped only by functions that are taken away, which someone may find a way around.
 */
export async function probeWalls(walls: SandboxWalls): Promise<readonly WallReport[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reveille-walls-")));
  const server = createServer((socket) => socket.destroy());
  const local = createServer((socket) => socket.destroy());
  try {
    const given = await prepare(folder, server, local);
    const inside = join(folder, "inside");
    const names = WALLS.map(({ name }) => name);
    const entry = join(inside, "entry.mjs");
    const bare = await probeAttempts({
      walls,
      folder: inside,
      entry,
      names,
      given,
      maxMemoryBytes: LIMITS.maxMemoryBytes,
    });
    return await probeSandbox(walls, { folder: inside, given, bare });
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
  walls: SandboxWalls,
  { folder, given, bare }: { folder: string; given: object; bare: ReadonlyMap<string, Attempt> },
): Promise<readonly WallReport[]> {
  const pool = await SandboxPool.start({
    folder: { path: folder, name: "probe" },
    modules: [{ file: "transform.mjs", export: null }],
    limits: LIMITS,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    walls,
  });
  try {
    const reports: WallReport[] = [];
    for (const wall of WALLS) {
      reports.push(report(wall, { walls, bare: bare.get(wall.name), inside: await tryInside(pool, wall.name, given) }));
    }
    for (const { name, wall, by } of ENDS) {
      const { did, detail } = await tryInside(pool, name, given);
      reports.push({ wall, holds: !did, by: did ? "nothing" : by, detail });
    }
    const { endsWithGateway } = walls;
    const by = endsWithGateway ? "the kernel" : "nothing";
    reports.push({
      wall: "outlive a gateway that is killed while it is in a loop",
      holds: endsWithGateway,
      by,
      isOptional: true,
    });
    return reports;
  } finally {
    await pool.close();
  }
}

function report(
  { wall, by }: Wall,
  { walls, bare, inside }: { walls: SandboxWalls; bare: Attempt | undefined; inside: Attempt },
): WallReport {
  if (inside.did) return { wall, holds: false, by: "nothing", detail: inside.detail };
  if (bare?.did === false) return { wall, holds: true, by: by(walls), detail: bare.detail };
  return { wall, holds: true, by: BY_NAME, detail: bare?.detail ?? inside.detail };
}

async function tryInside(pool: SandboxPool, name: string, given: object): Promise<Attempt> {
  const context = { payload: { name, given }, headers: {}, query: {}, path: "probe", now: new Date() };
  try {
    const value = await pool.call(0, {
      context: { ...context, event: undefined, sender: undefined },
      method: "POST",
      rawBody: new Uint8Array(),
      deliveryId: undefined,
    });
    // Nobody else has written the module.
    return value as Attempt;
  } catch (error) {
    return { did: false, detail: error instanceof Error ? error.message : String(error) };
  }
}
