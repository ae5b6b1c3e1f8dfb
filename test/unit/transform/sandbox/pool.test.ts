import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { scriptedChild } from "./pool-scripted-child.ts";
import { PoolSnapshot, call } from "./pool-snapshot.ts";
import { nodesWith, processesWith, until } from "./process-list.ts";

const ECHO = `export default ({ payload, rawBody }) => ({ text: String(payload), sessionKey: String(rawBody.byteLength) });`;
const COUNT = `let calls = 0; export default async () => { await new Promise((done) => setTimeout(done, 5)); return { name: ++calls }; };`;
const LOOP = `export default ({ payload }) => { if (payload === "loop") for (console.log("loops");;); return { text: String(payload) }; };`;
/** Longer than a process may stand still on a machine that is busy. */
const PATIENT_MS = 4_000;
const SLEEP = `export default async ({ payload }) => { await new Promise((done) => setTimeout(done, payload)); return { text: "woke" }; };`;

describe("a pool of sandbox processes", { timeout: 60_000 }, () => {
  it("gives each call its own answer, in the order of the calls of a module", async () => {
    await using snapshot = new PoolSnapshot({ "echo.mjs": ECHO });
    const pool = await snapshot.start();
    const order: number[] = [];

    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, at) => {
        const answer = await pool.call(0, call(at));
        order.push(at);
        return answer;
      }),
    );

    expect(answers).toEqual(Array.from({ length: 100 }, (_, at) => ({ text: String(at), sessionKey: "0" })));
    expect(order).toEqual(Array.from({ length: 100 }, (_, at) => at));
    expect(pool.figures()).toMatchObject({ calls: 100, restarts: 0, waiting: 0 });
    expect(pool.figures().rssBytes).toBeGreaterThan(1_000_000);
  });

  it("carries bodies of several megabytes beside small ones", async () => {
    await using snapshot = new PoolSnapshot({ "echo.mjs": ECHO });
    const pool = await snapshot.start();
    const sizes = [6_000_000, 1, 5_000_000, 0, 7_000_000, 100_000, 3_000_000];

    const answers = await Promise.all(sizes.map((size) => pool.call(0, call("big", new Uint8Array(size)))));

    expect(answers).toEqual(sizes.map((size) => ({ text: "big", sessionKey: String(size) })));
  });

  it("gives a payload that the body has from there, and any other as it is", async () => {
    const text = `JSON.parse = () => "patched"; export default ({ payload, rawBody }) => ({ text: JSON.stringify(payload), name: rawBody.byteLength });`;
    await using snapshot = new PoolSnapshot({ "shows.mjs": text });
    const pool = await snapshot.start();
    const payload = { not: "sent" };
    const body = Buffer.from('{"a":["ü",1.5,null]}');

    const fromBody = await pool.call(0, { ...call(payload, body), bodyPayload: payload });
    const item = await pool.call(0, { ...call({ n: 1 }, body), bodyPayload: payload });

    expect(fromBody).toEqual({ text: '{"a":["ü",1.5,null]}', name: body.byteLength });
    expect(item).toEqual({ text: '{"n":1}', name: body.byteLength });
  });

  it("distinguishes undefined, null and arrays", async () => {
    const text = `export default ({ payload }) => ({ none: undefined, skip: null, many: [{ text: "a" }, null] })[payload];`;
    await using snapshot = new PoolSnapshot({ "kinds.mjs": text });
    const pool = await snapshot.start();

    expect(await pool.call(0, call("none"))).toBeUndefined();
    expect(await pool.call(0, call("skip"))).toBeNull();
    expect(await pool.call(0, call("many"))).toEqual([{ text: "a" }, null]);
  });

  it("fails what a transform throws, and continues in the same process", async () => {
    const text = `let calls = 0; export default ({ payload }) => { calls++; if (payload) throw new TypeError("x is odd"); return { name: calls }; };`;
    await using snapshot = new PoolSnapshot({ "throws.mjs": text });
    const pool = await snapshot.start({ workers: 1 });

    await expect(pool.call(0, call(true))).rejects.toMatchObject({ kind: "failed" });
    await expect(pool.call(0, call(true))).rejects.toThrow(/TypeError: x is odd/);
    expect(await pool.call(0, call(false))).toEqual({ name: 3 });
  });

  it("ends a call that takes too long, and carries out those behind it elsewhere", async () => {
    await using snapshot = new PoolSnapshot({ "loop.mjs": LOOP });
    const pool = await snapshot.start({ timeoutMs: PATIENT_MS });

    const [hung, ...behind] = await Promise.allSettled([
      pool.call(0, call("loop")),
      ...Array.from({ length: 30 }, (_, at) => pool.call(0, call(at))),
    ]);

    expect(hung).toMatchObject({
      status: "rejected",
      reason: { kind: "failed", message: "took longer than 4,000 ms" },
    });
    expect(behind).toEqual(
      Array.from({ length: 30 }, (_, at) => ({ status: "fulfilled", value: { text: String(at) } })),
    );
    expect(pool.figures().restarts).toBe(1);
  });

  it("lets the time of a call begin when it is at the head", async () => {
    await using snapshot = new PoolSnapshot({ "sleep.mjs": SLEEP });
    const pool = await snapshot.start({ timeoutMs: PATIENT_MS, workers: 1 });

    const answers = await Promise.all(Array.from({ length: 6 }, () => pool.call(0, call(700))));

    expect(answers).toEqual(Array.from({ length: 6 }, () => ({ text: "woke" })));
  });

  it("does not count the time in which the gateway itself stands still", async () => {
    await using snapshot = new PoolSnapshot({ "sleep.mjs": SLEEP });
    const pool = await snapshot.start({ timeoutMs: PATIENT_MS });
    await pool.call(0, call(1));

    const answer = pool.call(0, call(PATIENT_MS + 400));
    await setTimeout(50);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PATIENT_MS + 100);

    expect(await answer).toEqual({ text: "woke" });
  });

  it("serves one module while another one hangs again and again", async () => {
    await using snapshot = new PoolSnapshot({ "loop.mjs": LOOP, "echo.mjs": ECHO });
    const pool = await snapshot.start({ timeoutMs: PATIENT_MS });
    // A call waits 20 s at most for a process: behind one that hangs, no matter how slowly its process is replaced.
    const hanging = Promise.allSettled(Array.from({ length: 2 }, () => pool.call(0, call("loop"))));

    for (let at = 0; at < 500; at++) {
      expect(await pool.call(1, call(at))).toMatchObject({ text: String(at) });
    }

    const hung = await hanging;
    expect(hung.map((one) => one.status === "rejected" && String(one.reason))).toEqual(
      Array.from({ length: 2 }, () => "TransformError: took longer than 4,000 ms"),
    );
  });

  it("keeps one process out of the reach of a module that hangs", async () => {
    await using snapshot = new PoolSnapshot({ "loop.mjs": LOOP, "echo.mjs": ECHO });
    const pool = await snapshot.start({ timeoutMs: 60_000 });
    const hanging = Promise.allSettled(Array.from({ length: 40 }, () => pool.call(0, call("loop"))));

    expect(await pool.call(1, call("other"))).toMatchObject({ text: "other" });

    await pool.close();
    expect(await hanging).toHaveLength(40);
  });

  it("lets modules take turns at a single process", async () => {
    await using snapshot = new PoolSnapshot({ "sleep.mjs": SLEEP, "echo.mjs": ECHO });
    const pool = await snapshot.start({ workers: 1, maxWaiting: 500 });
    let slept = 0;
    const sleeping = Array.from({ length: 60 }, async () => {
      await pool.call(0, call(10));
      slept++;
    });

    await pool.call(1, call("between"));
    const sleptBefore = slept;
    await Promise.all(sleeping);

    expect(sleptBefore).toBeLessThan(60);
    expect(slept).toBe(60);
  });

  it("refuses a call as busy when as many as may wait do", async () => {
    await using snapshot = new PoolSnapshot({ "sleep.mjs": SLEEP, "echo.mjs": ECHO });
    const pool = await snapshot.start({ maxWaiting: 3 });
    // One process with a window of 16, and three that wait.
    const sleeping = Array.from({ length: 19 }, () => pool.call(0, call(20)));

    await expect(pool.call(0, call(0))).rejects.toMatchObject({ kind: "busy", message: "3 calls of it wait already" });
    expect(pool.figures().waiting).toBe(3);
    expect(await pool.call(1, call("other"))).toMatchObject({ text: "other" });
    await Promise.all(sleeping);
  });

  it("refuses a call as busy that no process was free for in a long time", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot({ "echo.mjs": ECHO });
    const never = join(snapshot.path, "never");
    const entry = scriptedChild(
      snapshot,
      `import { existsSync } from "node:fs"; if (existsSync(${JSON.stringify(never)})) for (;;) read(); load(); read();`,
    );
    const pool = await snapshot.start({ timeoutMs: 2_000, workers: 1 }, { entry });
    // Its successor is there and never says that it is up.
    writeFileSync(never, "");
    for (const pid of nodesWith(snapshot.path)) process.kill(pid, "SIGKILL");
    await until(() => pool.figures().restarts === 1);

    await expect(pool.call(0, call("late"))).rejects.toMatchObject({
      kind: "busy",
      message: "no process was free for it within 10,000 ms",
    });
  });

  it("replaces a process after its calls, and no call fails for it", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot({ "count.mjs": COUNT });
    const pool = await snapshot.start({ maxCalls: 50 });
    const first = nodesWith(snapshot.path);
    const counts: number[] = [];
    const begun = (): number => counts.filter((count) => count === 1).length;

    // So many at once that the process is never without one.
    const ask = async (): Promise<void> => {
      while (counts.length < 500 || begun() < 4) {
        counts.push(((await pool.call(0, call(null))) as { name: number }).name);
      }
    };
    await Promise.all(Array.from({ length: 8 }, ask));

    expect(pool.figures()).toMatchObject({ calls: counts.length, restarts: 0 });
    await until(() => nodesWith(snapshot.path).length === 2);
    expect(nodesWith(snapshot.path)).not.toEqual(first);
  });

  it("replaces a process that is killed from outside while it rests", async () => {
    await using snapshot = new PoolSnapshot({ "echo.mjs": ECHO });
    const pool = await snapshot.start();
    await pool.call(0, call("before"));
    const [one, two] = nodesWith(snapshot.path);

    process.kill(Number(one), "SIGKILL");
    process.kill(Number(two), "SIGKILL");
    await until(() => pool.figures().restarts === 2);

    expect(await pool.call(0, call("after"))).toMatchObject({ text: "after" });
  });

  it("fails only the call in progress when its process is killed from outside", async () => {
    await using snapshot = new PoolSnapshot({ "loop.mjs": LOOP });
    const pool = await snapshot.start({ workers: 1, timeoutMs: 10_000 });
    const [pid] = nodesWith(snapshot.path);
    const hung = pool.call(0, call("loop"));
    const behind = Promise.all([1, 2, 3].map((at) => pool.call(0, call(at))));
    await until(() => snapshot.lines.length > 0);

    process.kill(Number(pid), "SIGKILL");

    await expect(hung).rejects.toMatchObject({ kind: "failed", message: "had its process killed from outside" });
    expect(await behind).toEqual([{ text: "1" }, { text: "2" }, { text: "3" }]);
  });

  it("does not blame a call for what another module has left behind in its process", async () => {
    const mine = `export default () => { setImmediate(() => { for (;;); }); return { text: "left" }; };`;
    await using snapshot = new PoolSnapshot({ "mine.mjs": mine, "echo.mjs": ECHO });
    const pool = await snapshot.start({ workers: 1, timeoutMs: PATIENT_MS });

    expect(await pool.call(0, call(null))).toEqual({ text: "left" });
    expect(await pool.call(1, call("innocent"))).toMatchObject({ text: "innocent" });
    expect(pool.figures().restarts).toBe(1);
  });

  it("refuses work in progress, waiting or arriving as busy when it is closed, and leaves no process", async () => {
    await using snapshot = new PoolSnapshot({ "loop.mjs": LOOP });
    const pool = await snapshot.start();
    const calls = Array.from({ length: 40 }, () => pool.call(0, call("loop")));
    const settled = Promise.allSettled(calls);

    await pool.close();

    const kinds = (await settled).map((one) => one.status === "rejected" && (one.reason as { kind: string }).kind);
    expect(new Set(kinds)).toEqual(new Set(["busy"]));
    await expect(pool.call(0, call("late"))).rejects.toMatchObject({ kind: "busy" });
    await until(() => processesWith(snapshot.path).length === 0);
    await pool.close();
  });
});
