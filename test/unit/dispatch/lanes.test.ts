import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Fifo, Lanes } from "../../../src/dispatch/lanes.ts";

describe("lanes", () => {
  it("give nothing while they are empty", () => {
    const lanes = new Lanes<string>();
    expect(lanes.take()).toBeUndefined();
    expect(lanes.queued).toBe(0);
  });

  it("give the items of one lane one after the other, each after its predecessor has ended", () => {
    const lanes = new Lanes<string>();
    for (const item of ["1", "2", "3"]) lanes.push("a", item);
    expect(lanes.take()).toEqual({ lane: "a", item: "1" });
    expect(lanes.take()).toBeUndefined();
    lanes.release("a");
    expect(lanes.take()).toEqual({ lane: "a", item: "2" });
    lanes.push("a", "4");
    expect(lanes.take()).toBeUndefined();
    lanes.release("a");
    expect(lanes.take()).toEqual({ lane: "a", item: "3" });
    lanes.release("a");
    expect(lanes.take()).toEqual({ lane: "a", item: "4" });
  });

  it("do not let one lane hold up another", () => {
    const lanes = new Lanes<string>();
    lanes.push("a", "a1");
    lanes.push("a", "a2");
    lanes.push("b", "b1");
    expect(lanes.take()).toEqual({ lane: "a", item: "a1" });
    expect(lanes.take()).toEqual({ lane: "b", item: "b1" });
  });

  it("are served in turn: a lane with much to do goes behind those that wait", () => {
    const lanes = new Lanes<string>();
    for (const item of ["a1", "a2", "a3"]) lanes.push("a", item);
    for (const item of ["b1", "b2"]) lanes.push("b", item);
    const order: string[] = [];
    for (let next = lanes.take(); next; next = lanes.take()) {
      order.push(next.item);
      lanes.release(next.lane);
    }
    expect(order).toEqual(["a1", "b1", "a2", "b2", "a3"]);
  });

  it("count what waits, and not what is under way", () => {
    const lanes = new Lanes<string>();
    lanes.push("a", "1");
    lanes.push("a", "2");
    expect(lanes.queued).toBe(2);
    lanes.take();
    expect(lanes.queued).toBe(1);
    lanes.release("a");
    expect(lanes.queued).toBe(1);
  });

  it("start anew after they ran empty", () => {
    const lanes = new Lanes<string>();
    lanes.push("a", "1");
    lanes.take();
    lanes.release("a");
    expect(lanes.take()).toBeUndefined();
    lanes.push("a", "2");
    expect(lanes.take()).toEqual({ lane: "a", item: "2" });
  });

  it("are not upset by the end of an item that nobody took", () => {
    const lanes = new Lanes<string>();
    lanes.release("never there");
    lanes.push("a", "1");
    lanes.push("a", "2");
    lanes.release("a");
    expect(lanes.take()).toEqual({ lane: "a", item: "1" });
    expect(lanes.take()).toBeUndefined();
    expect(lanes.queued).toBe(1);
    lanes.release("a");
    lanes.release("a");
    expect(lanes.take()).toEqual({ lane: "a", item: "2" });
    expect(lanes.take()).toBeUndefined();
  });
});

describe("a Fifo", () => {
  it("gives what was pushed, in order, and then nothing", () => {
    const fifo = new Fifo<number>();
    for (const item of [1, 2, 3]) fifo.push(item);
    expect(fifo.length).toBe(3);
    expect([fifo.shift(), fifo.shift(), fifo.shift(), fifo.shift()]).toEqual([1, 2, 3, undefined]);
    expect(fifo.length).toBe(0);
    fifo.push(4);
    expect(fifo.shift()).toBe(4);
  });

  it("gives many at once, at most as many as there are", () => {
    const fifo = new Fifo<number>();
    for (const item of [1, 2, 3]) fifo.push(item);
    expect(fifo.shiftMany(0)).toEqual([]);
    expect(fifo.shiftMany(2)).toEqual([1, 2]);
    expect(fifo.shiftMany(5)).toEqual([3]);
    expect(fifo.shiftMany(5)).toEqual([]);
  });

  it("keeps its order and its length through every compaction", () => {
    const fifo = new Fifo<number>();
    let pushed = 0;
    let shifted = 0;
    for (let round = 0; round < 200; round++) {
      for (let i = 0; i < 100; i++) fifo.push(pushed++);
      for (let i = 0; i < 90; i++) expect(fifo.shift()).toBe(shifted++);
      expect(fifo.length).toBe(pushed - shifted);
    }
    expect(fifo.shiftMany(Infinity)).toEqual(Array.from({ length: pushed - shifted }, (_, at) => shifted + at));
  });

  it("lets go of the items that it gave", async () => {
    const fifo = new Fifo<object>();
    const given = Array.from({ length: 100 }, (_, at) => {
      const item = { at };
      fifo.push(item);
      return new WeakRef(item);
    });
    fifo.push({ at: "the last one, so that the queue is not empty" });
    for (const _ of given) fifo.shift();
    // A WeakRef holds its target until the turn that made it has ended.
    await new Promise(setImmediate);
    collectGarbage();
    expect(given.filter((item) => item.deref() !== undefined)).toEqual([]);
    expect(fifo.length).toBe(1);
  });

  it("does not grow by what has passed through it", () => {
    const fifo = new Fifo<number>();
    fifo.push(0);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let at = 0; at < 3_000_000; at++) {
      fifo.push(at);
      fifo.shift();
    }
    collectGarbage();
    // Kept places would take 8 bytes each, 24 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(8_000_000);
    expect(fifo.length).toBe(1);
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
