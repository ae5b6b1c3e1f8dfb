import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, it } from "vitest";
import { ItemLanes, type Standing } from "./item-lanes.ts";

/** Items are named by their group and a number: `a1`. */
const groupOf = (item: string): string => item[0]!;

describe("lanes", () => {
  let closed: Set<string>;
  let priorities: Record<string, "high" | "normal" | "low">;
  let lanes: ItemLanes<string, string>;

  beforeEach(() => {
    closed = new Set();
    priorities = {};
    lanes = new ItemLanes({
      groupOf,
      isOpen: (group) => !closed.has(group),
      priorityOf: (group) => priorities[group] ?? "normal",
    });
  });

  /** Takes what there is, each item ending before the next is taken. */
  function drain(most = Infinity): string[] {
    const order: string[] = [];
    while (order.length < most) {
      const taken = lanes.take();
      if (!taken) break;
      order.push(taken.item);
      lanes.release(taken);
    }
    return order;
  }

  it("count no turns against a priority that has no work", () => {
    priorities = { h: "high", l: "low" };
    for (let at = 1; at <= 20; at++) lanes.push(`lane ${at}`, `h${at}`);
    drain(10);
    lanes.push("low", "l1");
    // Seven turns pass over it from now on, and the eighth is its own.
    expect(drain(8).indexOf("l1")).toBe(7);
  });

  it("give nothing while they are empty", () => {
    expect(lanes.next()).toBeUndefined();
    expect(lanes.take()).toBeUndefined();
    expect(lanes.queued).toBe(0);
  });

  it("give the items of one lane one after the other, each after its predecessor has ended", () => {
    for (const item of ["a1", "a2", "a3"]) lanes.push("x", item);
    const first = lanes.take()!;
    expect(first.item).toBe("a1");
    expect(lanes.take()).toBeUndefined();
    lanes.release(first);
    const second = lanes.take()!;
    expect(second.item).toBe("a2");
    lanes.push("x", "a4");
    expect(lanes.take()).toBeUndefined();
    lanes.release(second);
    expect(drain()).toEqual(["a3", "a4"]);
  });

  it("say what is next before it is taken", () => {
    lanes.push("x", "a1");
    expect(lanes.next()).toBe("a1");
    expect(lanes.next()).toBe("a1");
    expect(lanes.take()?.item).toBe("a1");
    expect(lanes.next()).toBeUndefined();
  });

  it("do not let one lane hold up another", () => {
    lanes.push("x", "a1");
    lanes.push("x", "a2");
    lanes.push("y", "a3");
    expect(lanes.take()?.item).toBe("a1");
    expect(lanes.take()?.item).toBe("a3");
  });

  it("are served in turn: a lane with much to do goes behind those that wait", () => {
    for (const item of ["a1", "a2", "a3"]) lanes.push("x", item);
    for (const item of ["a4", "a5"]) lanes.push("y", item);
    expect(drain()).toEqual(["a1", "a4", "a2", "a5", "a3"]);
  });

  it("do not hold up an item that waits for no other", () => {
    for (const item of ["a1", "a2", "a3"]) lanes.push("", item);
    expect([lanes.take()?.item, lanes.take()?.item, lanes.take()?.item]).toEqual(["a1", "a2", "a3"]);
  });

  it("count what waits, and not what is in progress", () => {
    lanes.push("x", "a1");
    lanes.push("x", "a2");
    expect(lanes.queued).toBe(2);
    const taken = lanes.take()!;
    expect(lanes.queued).toBe(1);
    lanes.release(taken);
    expect(lanes.queued).toBe(1);
  });

  it("start again after they ran empty", () => {
    lanes.push("x", "a1");
    expect(drain()).toEqual(["a1"]);
    lanes.push("x", "a2");
    expect(drain()).toEqual(["a2"]);
  });

  it("ignore the end of an item that was never taken or has ended before", () => {
    const first = lanes.push("x", "a1");
    lanes.push("x", "a2");
    lanes.release(first);
    lanes.putBack(first);
    expect(lanes.queued).toBe(2);
    const taken = lanes.take()!;
    expect(taken.item).toBe("a1");
    expect(lanes.take()).toBeUndefined();
    lanes.release(taken);
    lanes.take();
    lanes.release(taken);
    expect(lanes.queued).toBe(0);
    lanes.push("x", "a3");
    expect(lanes.take()).toBeUndefined();
  });

  it("give an item that was put back before everything else of its lane", () => {
    lanes.push("x", "a1");
    lanes.push("x", "a2");
    const taken = lanes.take()!;
    lanes.push("x", "a3");
    expect(lanes.next()).toBeUndefined();
    lanes.putBack(taken);
    expect(lanes.queued).toBe(3);
    expect(drain()).toEqual(["a1", "a2", "a3"]);
  });

  it("forget an item that is removed, wherever it stands", () => {
    const places = ["a1", "a2", "a3", "a4"].map((item) => lanes.push("x", item));
    const taken = lanes.take()!;
    expect(lanes.remove(places[2]!)).toBe(true);
    expect(lanes.remove(places[2]!)).toBe(false);
    expect(lanes.remove(taken)).toBe(false);
    lanes.release(taken);
    expect(lanes.remove(places[1]!)).toBe(true);
    expect(lanes.queued).toBe(1);
    expect(drain()).toEqual(["a4"]);
    const last = lanes.push("x", "a5");
    expect(lanes.remove(last)).toBe(true);
    expect(lanes.queued).toBe(0);
    expect(lanes.take()).toBeUndefined();
  });

  it("let the groups take turns, however many lanes each of them has", () => {
    for (const lane of ["1", "2", "3", "4"]) lanes.push(`a${lane}`, `a${lane}`);
    lanes.push("b1", "b1");
    lanes.push("b2", "b2");
    expect(drain()).toEqual(["a1", "b1", "a2", "b2", "a3", "a4"]);
  });

  it("keep back the lanes whose next item is of a closed group, until it is opened", () => {
    closed.add("a");
    lanes.push("x", "a1");
    lanes.push("x", "b1");
    lanes.push("y", "b2");
    expect(drain()).toEqual(["b2"]);
    closed.delete("a");
    expect(drain()).toEqual([]);
    lanes.review("a");
    lanes.review("of nobody");
    expect(drain()).toEqual(["a1", "b1"]);
  });

  it("close a group at once when it is reviewed, and let a lane continue whose closed item is removed", () => {
    const first = lanes.push("x", "a1");
    lanes.push("x", "b1");
    closed.add("a");
    lanes.reviewAll();
    expect(lanes.next()).toBeUndefined();
    lanes.remove(first);
    expect(drain()).toEqual(["b1"]);
  });

  it("give the higher priority first, and every eighth turn to a lower one that waits", () => {
    priorities = { a: "high", c: "low" };
    for (let at = 0; at < 30; at++) for (const group of ["a", "b", "c"]) lanes.push("", `${group}${at}`);
    const turns = drain(24).map(groupOf).join("");
    expect(turns).toBe("aaaaaaacbaaaaaacbaaaaaac");
    expect(
      drain(50)
        .map(groupOf)
        .filter((group) => group === "a"),
    ).toHaveLength(30 - 19);
  });

  it("move a group to another priority when it is reviewed", () => {
    priorities = { b: "low" };
    for (const item of ["a1", "b1", "a2", "b2"]) lanes.push("", item);
    priorities = { b: "high" };
    lanes.reviewAll();
    expect(drain()).toEqual(["b1", "b2", "a1", "a2"]);
  });

  it("keep nothing of lanes and groups that are empty", () => {
    const before = heapAfterUse(1_000);
    const after = heapAfterUse(200_000);
    // Kept lanes would take more than 100 bytes each, 20 MB.
    expect(after - before).toBeLessThan(8_000_000);
  });

  function heapAfterUse(count: number): number {
    let removed: Standing<string> | undefined;
    for (let at = 0; at < count; at++) {
      lanes.push(`lane ${at}`, `a${at}`);
      removed = lanes.push(`other lane ${at}`, `b${at}`);
      drain(1);
      lanes.remove(removed);
    }
    drain();
    collectGarbage();
    return process.memoryUsage().heapUsed;
  }
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
