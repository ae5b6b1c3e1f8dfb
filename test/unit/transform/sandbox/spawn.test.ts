import { execFile } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import { heapMegabytes, sandboxCommand, spawnSandbox } from "../../../../src/transform/sandbox/spawn.ts";
import type { SandboxIsolation } from "../../../../src/transform/sandbox/isolation/describe.ts";
import { detectIsolation } from "../../../../src/transform/sandbox/isolation/detect.ts";
import { scriptedChild } from "./pool-scripted-child.ts";
import { nodesWith } from "./process-list.ts";
import { LIMITS, PoolSnapshot, call } from "./pool-snapshot.ts";
import { withoutDescriptors } from "./without-descriptors.ts";

const run = promisify(execFile);
const JITI = fileURLToPath(new URL("../../../../node_modules/jiti", import.meta.url));
const WALLS: SandboxIsolation = {
  command: ["/usr/bin/unshare", "--net"],
  prlimit: "/usr/bin/prlimit",
  nice: "/usr/bin/nice",
  network: "namespace",
  processes: "by-name",
  endsWithGateway: false,
  memoryWatch: true,
};
afterEach(() => void vi.unstubAllEnvs());

const MODULE = { "a.mjs": "export default ({ payload }) => ({ name: process.argv.length + payload });" };

describe("the command line of a sandbox process", () => {
  it("starts with the limits and the isolation, and ends with Node and its worker", async () => {
    await using snapshot = new PoolSnapshot(MODULE);

    const command = sandboxCommand({ isolation: WALLS, folder: snapshot.path, maxMemoryBytes: 256 * 1_048_576 });

    expect(command.slice(0, 11)).toEqual([
      "/usr/bin/nice",
      "-n",
      "10",
      "/usr/bin/prlimit",
      "--core=0",
      "--fsize=0",
      "--data=1342177280",
      "/usr/bin/unshare",
      "--net",
      process.execPath,
      "--permission",
    ]);
    expect(command).toContain("--max-old-space-size=128");
    expect(command).toContain("--no-experimental-sqlite");
    expect(command.at(-1)).toMatch(/\/transform\/sandbox\/worker\/sandbox-worker\.(?:js|ts)$/);
  });

  it("allows to read the folder, the code that runs in it, and nothing else", async () => {
    await using snapshot = new PoolSnapshot(MODULE);

    const command = sandboxCommand({ isolation: WALLS, folder: snapshot.path, maxMemoryBytes: 256 * 1_048_576 });

    const allowed = command.filter((part) => part.startsWith("--allow"));
    expect(allowed[0]).toBe(`--allow-fs-read=${snapshot.path}`);
    const worker = command.at(-1) ?? "";
    const root = worker.slice(0, worker.indexOf("/transform/sandbox/worker/"));
    const code = worker.endsWith(".js") ? [root] : [join(root, "transform"), join(root, "core")];
    expect(allowed.slice(1)).toEqual([...code, JITI].map((path) => `--allow-fs-read=${path}`));
  });

  it("gives half of the memory to the heap, and less to what is young in a small process", async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const young = (megabytes: number): string | undefined =>
      sandboxCommand({ isolation: WALLS, folder: snapshot.path, maxMemoryBytes: megabytes * 1_048_576 }).find((part) =>
        part.startsWith("--max-semi"),
      );

    expect(heapMegabytes(268_435_456)).toBe(128);
    expect([64, 256, 4_096].map(young)).toEqual([2, 8, 16].map((size) => `--max-semi-space-size=${size}`));
  });

  it("is refused for a folder whose name would allow more than itself", async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const folder = join(snapshot.path, "a*");
    mkdirSync(folder);

    expect(() => sandboxCommand({ isolation: WALLS, folder, maxMemoryBytes: 268_435_456 })).toThrow(
      /rename the folder/,
    );
  });

  it("reads a folder with spaces and commas in its name", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot({ "my, own/a.mjs": "export default () => ({ name: 1 });" });
    const folder = { path: join(snapshot.path, "my, own"), name: "x" };
    const pool = await snapshot.start({ workers: 1 }, { folder, modules: [{ file: "a.mjs", export: null }] });

    expect(await pool.call(0, call(null))).toEqual({ name: 1 });
  });

  it("starts with an empty environment", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    vi.stubEnv("REVEILLE_TEST_SECRET", "secret");
    const entry = scriptedChild(snapshot, `raw(Buffer.from(JSON.stringify(process.env)));`);
    const isolation = await detectIsolation();

    const { channel } = spawnSandbox({ isolation, folder: snapshot.path, maxMemoryBytes: 268_435_456, entry });

    expect(JSON.parse(await text(channel))).toEqual({});
  });

  it("starts with the smallest memory that can be configured", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const pool = await snapshot.start({ workers: 1, maxMemoryBytes: 67_108_864 });

    for (let at = 0; at < 300; at++) expect(await pool.call(0, call(1))).toEqual({ name: 3 });
  });

  it("finds its packages where they are links", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const installed = join(snapshot.path, "installed");
    const here = fileURLToPath(new URL("../../../../", import.meta.url));
    for (const name of ["src", "package.json"]) cpSync(join(here, name), join(installed, name), { recursive: true });
    symlinkSync(join(here, "node_modules"), join(installed, "node_modules"));
    const script = `
      const { SandboxPool } = await import(${JSON.stringify(join(installed, "src/transform/sandbox/pool.ts"))});
      const logger = { debug() {}, info() {}, warn() {}, error() {} };
      const folder = { path: ${JSON.stringify(snapshot.path)}, name: "x" };
      const modules = [{ file: "a.mjs", export: null }];
      const pool = await SandboxPool.start({ folder, modules, logger, limits: ${JSON.stringify(LIMITS)} });
      const context = { payload: 1, headers: {}, query: {}, path: "x", now: new Date() };
      console.log(await pool.call(0, { context, method: "POST", rawBody: new Uint8Array() }));
      await pool.close();`;

    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script]);

    expect(stdout).toBe("{ name: 3 }\n");
  });

  it(
    "is logged, and does not end the gateway, when there is no file descriptor for it",
    { timeout: 60_000 },
    async () => {
      await using snapshot = new PoolSnapshot(MODULE);
      const [pool, detector] = ["pool.ts", "isolation/detect.ts"].map(
        (name) => new URL(`../../../../src/transform/sandbox/${name}`, import.meta.url).href,
      );
      const { poor, rich } = await withoutDescriptors(
        `const { SandboxPool } = await import(${JSON.stringify(pool)});
       const { detectIsolation } = await import(${JSON.stringify(detector)});
       const logger = { debug() {}, info() {}, warn() {}, error() {} };
       const folder = { path: ${JSON.stringify(snapshot.path)}, name: "x" };
       const modules = [{ file: "a.mjs", export: null }];
       const isolation = await detectIsolation();
       const use = async () => {
         const pool = await SandboxPool.start({ folder, modules, logger, isolation, limits: ${JSON.stringify(LIMITS)} });
         const context = { payload: 1, headers: {}, query: {}, path: "x", now: new Date() };
         const result = await pool.call(0, { context, method: "POST", rawBody: new Uint8Array() });
         await pool.close();
         return result;
       };`,
        "await use()",
      );

      expect(poor).toMatchObject({
        name: "SandboxStartError",
        isPassing: true,
        said: expect.stringMatching(/could not be started: spawn \S+ EMFILE/),
      });
      expect(rich).toEqual({ name: 3 });
    },
  );

  it("runs below the gateway", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    await snapshot.start({ workers: 1 });

    const [pid] = nodesWith(snapshot.path);
    expect(getPriority(pid)).toBe(10);
  });
});
