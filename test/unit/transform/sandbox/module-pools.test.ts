import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { SandboxLoadError } from "../../../../src/transform/errors.ts";
import { PoolSnapshot, call } from "./pool-snapshot.ts";
import { nodesWith } from "./process-list.ts";

const ECHO = `export default ({ payload }) => ({ text: String(payload) });`;
const LOOP = `export default () => { for (;;); };`;
const LEAVES = `export default () => { setImmediate(() => { for (;;); }); return { text: "left" }; };`;
const SLEEP = `export default async ({ payload }) => { await new Promise((done) => setTimeout(done, payload)); return { text: "woke" }; };`;
/** No call of these tests ends by it. */
const LONG_MS = 60_000;

/** Reads the channel of its process, answers what it reads, and writes lines to the log of others. */
const FORGES = `
  import fs from "node:fs";
  const own = { iterator: Array.prototype[Symbol.iterator], apply: Reflect.apply };
  const unguarded = {};
  const frame = (reply) => {
    const json = Buffer.from(JSON.stringify(reply));
    const head = Buffer.alloc(8);
    head.writeUInt32LE(json.length, 0);
    return Buffer.concat([head, json]);
  };
  Object.prototype.toJSON = () => ({ text: "forged" });
  const steal = () => {
    for (const name of ["readSync", "writeSync"]) {
      Reflect.apply = (original) => (unguarded[name] = original);
      try { fs[name](99, Buffer.alloc(1)); } catch {}
      Reflect.apply = own.apply;
      unguarded[name] ??= (...args) => {
        Array.prototype[Symbol.iterator] = function* () {};
        try { return fs[name](...args); } finally { Array.prototype[Symbol.iterator] = own.iterator; }
      };
    }
  };
  export default () => {
    setImmediate(() => {
      steal();
      try {
        unguarded.writeSync(3, frame({ is: "log", level: "info", text: "forged" }));
        const bytes = Buffer.alloc(65536);
        const length = unguarded.readSync(3, bytes, 0, bytes.length, null);
        const { id } = JSON.parse(bytes.subarray(8, 8 + bytes.readUInt32LE(0)).toString());
        unguarded.writeSync(3, frame({ is: "begun", id }));
        unguarded.writeSync(3, frame({ is: "returned", id, value: { text: "forged" } }));
      } catch {}
    });
    return { text: "own" };
  };`;

describe("transforms of different files", { timeout: 60_000 }, () => {
  it("cannot answer, read or change one another's calls", async () => {
    await using snapshot = new PoolSnapshot({ "forges.mjs": FORGES, "echo.mjs": ECHO, "third.mjs": ECHO });
    const pools = await snapshot.startEach({ workers: 1 });
    for (let at = 0; at < 5; at++) {
      const [, ...answers] = await Promise.all([
        pools.call(0, call(at)).catch(() => {}),
        pools.call(1, call(at)),
        pools.call(2, call(at)),
      ]);
      expect(answers).toEqual([{ text: String(at) }, { text: String(at) }]);
    }
    expect(snapshot.lines.filter(({ message }) => message.includes("forged"))).toEqual([]);
  });

  it("share no globals, and functions of one file share their process", async () => {
    const counts = `const next = () => ({ text: String(globalThis.calls = (globalThis.calls ?? 0) + 1) });
      export default next; export const other = next;`;
    await using snapshot = new PoolSnapshot({ "one.mjs": counts, "two.mjs": counts });
    const modules = ["one.mjs", "two.mjs"].flatMap((file) => [null, "other"].map((name) => ({ file, export: name })));
    const pools = await snapshot.startEach({ workers: 1 }, { modules });

    const texts: unknown[] = [];
    for (const module of [0, 1, 2, 3]) texts.push(await pools.call(module, call(null)));

    expect(texts).toEqual(["1", "2", "1", "2"].map((text) => ({ text })));
  });

  it("are answered while others hang, or leave endless loops behind", async () => {
    const files = { "echo.mjs": ECHO, "a.mjs": LOOP, "b.mjs": LOOP, "c.mjs": LOOP, "d.mjs": LEAVES };
    await using snapshot = new PoolSnapshot(files);
    const pools = await snapshot.startEach({ timeoutMs: LONG_MS });
    let settled = 0;
    const hang = (module: number): Promise<unknown> =>
      pools
        .call(module, call(null))
        .catch(() => {})
        .finally(() => settled++);
    const hanging = [hang(1), hang(2), hang(3)];
    await pools.call(4, call(null));
    hanging.push(hang(4));

    for (let at = 0; at < 50; at++) expect(await pools.call(0, call(at))).toEqual({ text: String(at) });

    expect(settled).toBe(0);
    await pools.close();
    await Promise.all(hanging);
  });
});

describe("the processes of transforms", { timeout: 60_000 }, () => {
  it("start with the first call beyond those that stay warm, and end when they are idle", async () => {
    await using snapshot = new PoolSnapshot({ "a.mjs": ECHO, "b.mjs": ECHO, "c.mjs": ECHO });
    const pools = await snapshot.startEach({ workers: 1 }, { idleMs: 20 });
    await vi.waitFor(() => expect(nodesWith(snapshot.path)).toHaveLength(1), 15_000);

    for (const module of [0, 1, 2, 1, 0]) expect(await pools.call(module, call(module))).toEqual({ text: `${module}` });

    await vi.waitFor(() => expect(nodesWith(snapshot.path)).toHaveLength(1), { timeout: 20_000 });
    expect(await pools.call(2, call("again"))).toEqual({ text: "again" });
  });

  it("are bounded: a call waits until a process is idle", async () => {
    const names = Array.from({ length: 6 }, (_, at) => [`m${at}.mjs`, SLEEP] as const);
    await using snapshot = new PoolSnapshot(Object.fromEntries(names));
    const pools = await snapshot.startEach({ workers: 1, timeoutMs: LONG_MS });
    let most = 0;

    const answers = Promise.all(names.map((_, module) => pools.call(module, call(300))));
    const watch = setInterval(() => (most = Math.max(most, nodesWith(snapshot.path).length)), 20);

    expect(await answers).toEqual(names.map(() => ({ text: "woke" })));
    clearInterval(watch);
    expect(most).toBeLessThanOrEqual(4);
  });

  it("share out the workers when there are more of them than files", async () => {
    await using snapshot = new PoolSnapshot({ "a.mjs": ECHO, "b.mjs": ECHO });
    await snapshot.startEach({ workers: 5 });
    await vi.waitFor(() => expect(nodesWith(snapshot.path)).toHaveLength(4), 15_000);
  });

  it("refuse all broken modules at once, also those that would start later", async () => {
    await using snapshot = new PoolSnapshot({
      "a.mjs": "const a = ;",
      "b.mjs": ECHO,
      "c.mjs": "throw new Error('c');",
    });
    const error = await snapshot.startEach({ workers: 1 }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(SandboxLoadError);
    expect(new Set((error as SandboxLoadError).failures.map(({ module }) => module))).toEqual(new Set([0, 2]));
    await vi.waitFor(() => expect(nodesWith(snapshot.path)).toEqual([]), 15_000);
  });

  it("are judged by themselves, whatever another file leaves behind in the process that tries them", async () => {
    const late = (text: string): string => `setTimeout(() => { ${text} }, 10); ${ECHO}`;
    const slow = `await new Promise((done) => setTimeout(done, 50)); ${ECHO}`;
    await using snapshot = new PoolSnapshot({
      "a.mjs": ECHO,
      "ends.mjs": `process.removeAllListeners("uncaughtException"); ${late("throw new Error('late');")}`,
      "slow.mjs": slow,
      "freezes.mjs": `Object.freeze(Object.prototype); ${ECHO}`,
      "assigns.mjs": `const own = {}; own.toString = () => "own"; ${ECHO}`,
    });
    const pools = await snapshot.startEach({ workers: 1 });
    expect(await pools.call(2, call(1))).toEqual({ text: "1" });
    expect(await pools.call(4, call(2))).toEqual({ text: "2" });
  });

  it("are named when they are broken, and no others", async () => {
    await using snapshot = new PoolSnapshot({
      "a.mjs": ECHO,
      "freezes.mjs": `Object.freeze(Object.prototype); ${ECHO}`,
      "assigns.mjs": `const own = {}; own.toString = () => "own"; ${ECHO}`,
      "broken.mjs": "throw new Error('broken');",
      "syntax.mjs": "const = 1;",
    });
    const failures = [
      { module: 3, message: expect.stringContaining("broken.mjs:1:7: throws") as unknown },
      { module: 4, message: expect.stringContaining("syntax.mjs:1:7: ") as unknown },
    ];
    await expect(snapshot.startEach({ workers: 1 })).rejects.toMatchObject({ failures });
  });

  it("fail a call whose module cannot be loaded any more, and try again with the next call", async () => {
    await using snapshot = new PoolSnapshot({ "a.mjs": ECHO, "b.mjs": ECHO });
    const pools = await snapshot.startEach({ workers: 1 });
    writeFileSync(join(snapshot.path, "b.mjs"), "throw new Error('gone bad');");
    // It continues "The transform b.mjs failed: it".
    const message = expect.stringMatching(
      /^could not be loaded: \S+\/b\.mjs:1:7: throws while it is loaded: Error: gone bad$/,
    );
    await expect(pools.call(1, call(1))).rejects.toMatchObject({ kind: "failed", message });
    writeFileSync(join(snapshot.path, "b.mjs"), ECHO);

    expect(await pools.call(1, call(2))).toEqual({ text: "2" });
  });

  it("let no more calls wait for a start than may wait for a process", async () => {
    await using snapshot = new PoolSnapshot({ "a.mjs": ECHO, "b.mjs": ECHO });
    const pools = await snapshot.startEach({ workers: 1, maxWaiting: 3 });

    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, (_, at) => pools.call(1, call(at))));

    expect(outcomes.map(({ status }) => status)).toEqual([...Array(3).fill("fulfilled"), ...Array(2).fill("rejected")]);
    expect(outcomes[4]).toMatchObject({ reason: { kind: "busy" } });
  });

  it("end with calls that wait for a start, which are refused as busy", async () => {
    await using snapshot = new PoolSnapshot({ "a.mjs": ECHO, "b.mjs": ECHO });
    const pools = await snapshot.startEach({ workers: 1 });
    const refused = pools.call(1, call(1)).catch((error: unknown) => error);
    await pools.close();
    expect(await refused).toMatchObject({ kind: "busy" });
    await expect(pools.call(0, call(1))).rejects.toMatchObject({ kind: "busy" });
    await vi.waitFor(() => expect(nodesWith(snapshot.path)).toEqual([]), 15_000);
  });
});
