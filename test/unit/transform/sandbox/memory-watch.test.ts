import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { SandboxPool } from "../../../../src/transform/sandbox/pool.ts";
import type { SandboxIsolation } from "../../../../src/transform/sandbox/isolation/describe.ts";
import { PoolSnapshot, call } from "./pool-snapshot.ts";
import { nodesWith, until } from "./process-list.ts";
import { MemoryWatch, onlyChildOf, ownBytes } from "../../../../src/transform/sandbox/memory-watch.ts";

/** Behind them no process is found that has the memory, since nothing was started in front of it. */
const UNSEEN: SandboxIsolation = {
  command: [],
  prlimit: undefined,
  network: "by-name",
  processes: "namespace",
  endsWithGateway: false,
  memoryWatch: false,
};

describe("the memory of a process", () => {
  it("grows with what it fills, and is no longer known when it has ended", async () => {
    const script = `process.stdin.once("data", () => { globalThis.all = Buffer.alloc(100_000_000, 1); console.log("full"); });
      process.stdin.on("end", () => process.exit()); console.log("up");`;
    const child = spawn(process.execPath, ["--eval", script], { stdio: ["pipe", "pipe", "inherit"] });
    const said = (): Promise<unknown> => new Promise((resolve) => child.stdout.once("data", resolve));
    await said();
    const watch = MemoryWatch.open(Number(child.pid));
    const before = Number(watch?.read());
    const full = said();
    child.stdin.write("fill");
    await full;

    expect(before).toBeGreaterThan(1_000_000);
    expect(watch?.read()).toBeGreaterThan(before + 90_000_000);

    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdin.end();
    await ended;
    expect(watch?.read()).toBeUndefined();
    watch?.close();
    watch?.close();
    expect(watch?.read()).toBeUndefined();
  });

  it("is what is its own, in memory and swapped out", () => {
    const status = "VmRSS:\t  900 kB\nRssAnon:\t  100 kB\nRssFile:\t  790 kB\nRssShmem:\t   10 kB\nVmSwap:\t    5 kB\n";

    expect(ownBytes(status)).toBe(115 * 1_024);
    expect(ownBytes("VmRSS:\t  900 kB\nVmSwap:\t    5 kB\n")).toBe(900 * 1_024);
    expect(ownBytes("Name:\tnode\n")).toBeUndefined();
  });

  it("is not known of a process that there is not", () => {
    expect(MemoryWatch.open(0x7fff_ffff)).toBeUndefined();
    expect(onlyChildOf(0x7fff_ffff)).toBeUndefined();
  });
});

describe("a process whose memory should be watched", () => {
  const open = async (walls: Partial<SandboxIsolation>): Promise<SandboxPool> => {
    await using snapshot = new PoolSnapshot({ "a.mjs": "export default () => null;" });
    const pool = await snapshot.start({ workers: 1 }, { isolation: { ...UNSEEN, ...walls } });
    await pool.close();
    return pool;
  };

  it("is ended when it cannot be", { timeout: 60_000 }, async () => {
    await expect(open({ memoryWatch: true })).rejects.toThrow(
      "a sandbox process for transforms could not be watched for its memory",
    );
  });

  it("is used where no process can be watched", { timeout: 60_000 }, async () => {
    expect((await open({ memoryWatch: false })).figures().rssBytes).toBeUndefined();
  });

  it("is not taken as the successor of another until it can be", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot({ "a.mjs": "export default () => ({ name: 1 });" });
    const walls = { ...UNSEEN, processes: "by-name" as SandboxIsolation["processes"], memoryWatch: true };
    const pool = await snapshot.start({ workers: 1 }, { isolation: walls });
    walls.processes = "namespace";
    for (const pid of nodesWith(snapshot.path)) process.kill(pid, "SIGKILL");
    const unwatched = (): number =>
      snapshot.lines.filter(({ fields }) => JSON.stringify(fields).includes("could not be watched for its memory"))
        .length;

    await until(() => unwatched() >= 2);
    walls.processes = "by-name";

    expect(await pool.call(0, call(null))).toEqual({ name: 1 });
  });
});
