import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { noTransforms, TransformSet } from "../../../src/transform/set.ts";

class Releases {
  count = 0;
  readonly set = new TransformSet({
    calls: new Map([["m0", () => Promise.resolve(7)]]),
    key: "k",
    release: async () => {
      this.count++;
    },
  });
}

describe("the transforms of a configuration", () => {
  it("are found by the mapping's id", async () => {
    const { set } = new Releases();
    expect(set.get("m1")).toBeUndefined();
    expect(
      await set.get("m0")?.({
        context: { path: "x", headers: {}, query: {}, payload: {}, now: new Date(0) },
        method: "POST",
        rawBody: new Uint8Array(),
        deliveryId: undefined,
      }),
    ).toBe(7);
    expect([set.size, set.key, set.figures(), await set.isStale()]).toEqual([1, "k", { rssBytes: undefined }, false]);
  });

  it("end when they are retired and no request is in progress", async () => {
    const releases = new Releases();
    releases.set.enter();
    releases.set.enter();
    releases.set.leave();
    const ended = releases.set.retire();
    await setImmediate();
    expect(releases.count).toBe(0);
    releases.set.leave();
    await ended;
    expect(releases.count).toBe(1);
  });

  it("continue without requests as long as they are active", () => {
    const releases = new Releases();
    releases.set.enter();
    releases.set.leave();
    expect(releases.count).toBe(0);
  });

  it("report when no request is in progress", async () => {
    const { set } = new Releases();
    await set.whenIdle();
    set.enter();
    set.enter();
    let isIdle = false;
    const idle = set.whenIdle().then(() => (isIdle = true));
    set.leave();
    await Promise.resolve();
    expect(isIdle).toBe(false);
    set.leave();
    await idle;
    expect(isIdle).toBe(true);
  });

  it("end once, however often they are ended", async () => {
    const releases = new Releases();
    const retired = releases.set.retire();
    await releases.set.close();
    await retired;
    await releases.set.close();
    expect(releases.count).toBe(1);
  });

  it("may be none", async () => {
    const set = noTransforms();
    expect([set.size, set.get("m0")]).toEqual([0, undefined]);
    await set.close();
  });
});
