import { getEventListeners } from "node:events";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import type { TransformError } from "../../../../src/transform/call.ts";
import { PoolSnapshot, call } from "./pool-snapshot.ts";
import { processesWith, until } from "./process-list.ts";

const ECHO = `export default ({ payload }) => ({ text: String(payload) });`;
/** Longer than a process may stand still on a machine that is busy. */
const PATIENT_MS = 4_000;
const LEAVES = `export default () => { setTimeout(() => { for (;;); }); return { text: "left" }; };`;

describe("what goes wrong in a process fails no other call", { timeout: 60_000 }, () => {
  it("when modules answer at once and leave endless loops behind", { timeout: 120_000 }, async () => {
    await using snapshot = new PoolSnapshot({ "one.mjs": LEAVES, "two.mjs": LEAVES, "echo.mjs": ECHO });
    const pool = await snapshot.start({ timeoutMs: PATIENT_MS });
    const over = new AbortController();
    const leave = async (module: number): Promise<void> => {
      while (!over.signal.aborted) {
        // A pool that refuses at once would let nothing else in this process run.
        await pool.call(module, call(null)).catch(() => setTimeout(1));
      }
    };
    const leaving = [leave(0), leave(1)];

    const reason = "kept its process from the next call for 4,000 ms";
    const isTold = (file: string): boolean =>
      snapshot.lines.some(
        ({ level, fields }) =>
          level === "warn" && isDeepStrictEqual(fields, { module: `hooks/transforms/${file}`, reason }),
      );
    try {
      for (let at = 0; at < 2 || !isTold("one.mjs") || !isTold("two.mjs"); at++) {
        // On a busy machine there may be no process for it in time; it is never the one that is blamed.
        const answer = await pool.call(2, call(at)).catch((error: TransformError) => error.kind);
        expect([{ text: String(at) }, "busy"]).toContainEqual(answer);
      }
    } finally {
      over.abort();
    }

    await pool.close();
    await Promise.all(leaving);
  });

  it("but a call that hangs in a process that another has used is called once, and fails in its own time", async () => {
    const hangs = `export default () => { console.log("called"); for (;;); };`;
    await using snapshot = new PoolSnapshot({ "echo.mjs": ECHO, "hangs.mjs": hangs });
    const pool = await snapshot.start({ workers: 1, timeoutMs: PATIENT_MS });
    await pool.call(0, call("before"));

    await expect(pool.call(1, call(null))).rejects.toThrow("took longer than 4,000 ms");

    expect(snapshot.lines.filter(({ message }) => message === "transform: called")).toHaveLength(1);
    expect(snapshot.lines.filter(({ level }) => level === "warn")).toEqual([]);
    expect(pool.figures().restarts).toBe(1);
  });

  it("when a module throws in a timer while another is called", async () => {
    const throws = `export default () => { setTimeout(() => { throw new Error("stray"); }, 100); return { text: "left" }; };`;
    const rejects = `export default () => { setTimeout(async () => { throw new Error("lost"); }, 100); return { text: "left" }; };`;
    const sleeps = `export default async () => { await new Promise((done) => setTimeout(done, 500)); return { text: "woke" }; };`;
    await using snapshot = new PoolSnapshot({ "throws.mjs": throws, "rejects.mjs": rejects, "sleeps.mjs": sleeps });
    const pool = await snapshot.start({ workers: 1 });

    await Promise.all([pool.call(0, call(null)), pool.call(1, call(null))]);

    expect(await pool.call(2, call(null))).toEqual({ text: "woke" });
    const errors = snapshot.lines.flatMap(({ level, message }) => (level === "error" ? [message] : []));
    expect(errors).toEqual([
      expect.stringMatching(/threw Error: stray \(hooks\/transforms\/throws\.mjs:1:\d+\), outside of a call$/),
      expect.stringMatching(/threw Error: lost \(hooks\/transforms\/rejects\.mjs:1:\d+\), outside of a call$/),
    ]);
  });

  it("when a module throws in a timer while another is loaded", async () => {
    const throws = `setTimeout(() => { throw new Error("stray"); }, 50); export default () => null;`;
    const slow = `await new Promise((done) => setTimeout(done, 300)); export default () => ({ text: "slow" });`;
    await using snapshot = new PoolSnapshot({ "throws.mjs": throws, "slow.mjs": slow });
    const pool = await snapshot.start();

    expect(await pool.call(1, call(null))).toEqual({ text: "slow" });
  });

  it("when a module tries to answer in the place of the next one", async () => {
    const forges = `
      import fs from "node:fs"; import net from "node:net"; import tty from "node:tty";
      const own = new URL(import.meta.url).pathname;
      const frame = (id) => {
        const json = Buffer.from(JSON.stringify({ is: "returned", id, value: { text: "forged" } }));
        const head = Buffer.alloc(8);
        head.writeUInt32LE(json.length, 0);
        return Buffer.concat([head, json]);
      };
      const ways = [
        () => new net.Socket({ fd: 3 }),
        () => new tty.WriteStream(3),
        () => new tty.ReadStream(3),
        () => fs.createWriteStream(own, { fd: 3, flags: "r" }),
        async () => {
          const file = await fs.promises.open(own);
          Object.defineProperty(file, "fd", { value: 3 });
          return { write: (bytes) => file.write(bytes) };
        },
        async () => {
          let found;
          const { emit } = process.getBuiltinModule("events").prototype;
          process.getBuiltinModule("events").prototype.emit = function (...args) { found = this; return emit.apply(this, args); };
          await fs.promises.readFile(own);
          process.getBuiltinModule("events").prototype.emit = emit;
          Object.defineProperty(found, "fd", { value: 3 });
          return { write: (bytes) => Object.getPrototypeOf(found).write.call(found, bytes) };
        },
      ];
      export default async ({ payload }) => {
        try {
          const stream = await ways[payload]();
          stream.on?.("error", () => {});
          // After the answer to this call, before the next one is read.
          setImmediate(() => { for (let id = 0; id < 20; id++) stream.write(frame(id)); });
        } catch (error) {
          return { text: "refused", name: String(error) };
        }
        return { text: "tried" };
      };`;
    await using snapshot = new PoolSnapshot({ "forges.mjs": forges, "echo.mjs": ECHO });
    const pool = await snapshot.start({ workers: 1, timeoutMs: PATIENT_MS });
    for (let way = 0; way < 6; way++) {
      const [, answer] = await Promise.all([pool.call(0, call(way)), pool.call(1, call("own"))]);
      expect([way, answer]).toEqual([way, { text: "own" }]);
    }
    expect(pool.figures().restarts).toBe(0);
  });
});

describe("the start of a pool", { timeout: 60_000 }, () => {
  it("takes 20 lines of each module, of as many modules as there are", async () => {
    const writes = `for (let line = 0; line < 20; line++) console.log("line", line); export default () => null;`;
    const names = Array.from({ length: 51 }, (_, at) => [`m${at}.mjs`, writes] as const);
    await using snapshot = new PoolSnapshot(Object.fromEntries(names));
    const pool = await snapshot.start({ workers: 1 });

    expect(await pool.call(50, call(null))).toBeNull();
  });

  it("ends at once with the reason of a signal that is aborted, and leaves nothing", async () => {
    await using snapshot = new PoolSnapshot({ "hangs.mjs": `await new Promise(() => {});` });
    const controller = new AbortController();
    const { signal } = controller;
    const started = snapshot.start({}, { signal }).catch((error: unknown) => error);
    await until(() => processesWith(snapshot.path).length > 0);
    const reason = new Error("a later edit");
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    controller.abort(reason);

    expect(await started).toBe(reason);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await until(() => processesWith(snapshot.path).length === 0);
    await expect(snapshot.start({}, { signal })).rejects.toBe(reason);
  });

  it("leaves a pool that has started alone when the signal is aborted later", async () => {
    await using snapshot = new PoolSnapshot({ "echo.mjs": ECHO });
    const controller = new AbortController();
    const pool = await snapshot.start({}, { signal: controller.signal });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    controller.abort();
    await setTimeout(20);

    expect(await pool.call(0, call("still"))).toEqual({ text: "still" });
  });
});
