import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Action } from "../../../src/delivery.ts";
import type { NewDelivery } from "../../../src/store/new-delivery.ts";
import { acceptedBy, callPipeline } from "./pipeline-calls.ts";
import { CREDENTIAL, RECEIVED_AT, StageBench } from "./stage-bench.ts";

const mapping = { id: "in", match: { path: "in" }, messageTemplate: "{{text}}", deliver: false };
const NAMED = { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] };
const bySession = { ...mapping, sessionKey: "hook:{{session}}" };
const many = { ...mapping, messageTemplate: "{{items[0]}}", forEach: "items" };

let bench: StageBench;
let accepted: NewDelivery[];
beforeEach(async () => {
  bench = await StageBench.open();
  accepted = acceptedBy(bench);
});
afterEach(() => bench[Symbol.asyncDispose]());

/** What the store is handed for calls of one mapping. */
async function storedFor(own: object, payloads: readonly object[], block: object = {}): Promise<NewDelivery[]> {
  const generation = await bench.generation({ ...block, mappings: [own] });
  for (const payload of payloads) {
    const { status } = await callPipeline(bench, generation, { path: "in", body: JSON.stringify(payload) });
    expect(status).toBeLessThan(300);
  }
  return accepted.splice(0);
}

const hex = (key: Uint8Array | undefined): string | undefined => key && Buffer.from(key).toString("hex");

/** True when the overlap claims of all calls have one key. */
function haveOneOverlap(deliveries: readonly NewDelivery[]): boolean {
  expect(deliveries.every(({ overlap }) => overlap !== undefined)).toBe(true);
  return new Set(deliveries.map(({ overlap }) => hex(overlap?.key))).size === 1;
}

describe("a delivery on its way into the store", () => {
  it("says which credential it came with, and nothing of what the mapping does not want", async () => {
    const [delivery] = await storedFor(mapping, [{ text: "a" }]);
    expect(delivery).toMatchObject({ receivedAt: RECEIVED_AT, route: "in", mappingId: "in" });
    expect(delivery?.credentialId).toMatch(/^[0-9a-f]{16}$/);
    expect(delivery?.credentialId).not.toBe(CREDENTIAL.id);
    expect(delivery).not.toHaveProperty("coalesce");
    expect(delivery).not.toHaveProperty("overlap");
    expect(delivery?.runs[0]).toMatchObject({ lane: delivery?.runs[0]?.spec.sessionKey, expiresAt: null });
  });

  it("of a fixed endpoint waits for ever, in its session's lane", async () => {
    const generation = await bench.generation();
    await callPipeline(bench, generation, { path: "agent", body: '{"message":"x","deliver":false}' });
    expect(accepted[0]?.runs[0]?.expiresAt ?? null).toBeNull();
    expect(accepted[0]?.runs[0]?.lane).toBe(accepted[0]?.runs[0]?.spec.sessionKey);
  });

  it("has runs that expire maxAgeSeconds after it was received", async () => {
    const [delivery] = await storedFor({ ...mapping, maxAgeSeconds: 60 }, [{ text: "a" }]);
    expect(delivery?.runs[0]?.expiresAt).toBe(RECEIVED_AT + 60_000);
  });

  it('has runs without a lane with order "none", wakes excepted', async () => {
    const [agent] = await storedFor({ ...mapping, order: "none" }, [{ text: "a" }]);
    expect(agent?.runs.map(({ lane }) => lane)).toEqual([""]);
    bench.hooks.actions.tap("wakes", (): readonly Action[] => [{ kind: "wake", text: "x", mode: "now" }]);
    const [wake] = await storedFor({ ...mapping, order: "none" }, [{ text: "a" }]);
    expect(wake?.runs.map(({ lane }) => lane)).toEqual(["agent:main:main"]);
  });
});

describe("the overlap claim", () => {
  it("is the same for all calls of a mapping that names no session, though each run has one of its own", async () => {
    expect(haveOneOverlap(await storedFor({ ...mapping, overlap: "latest" }, [{ text: "a" }, { text: "b" }]))).toBe(
      true,
    );
  });

  it("is that of the session where the mapping names one", async () => {
    const own = { ...bySession, overlap: "latest" };
    const calls = (sessions: readonly string[]) =>
      storedFor(
        own,
        sessions.map((session) => ({ text: "a", session })),
        NAMED,
      );
    expect(haveOneOverlap(await calls(["one", "one"]))).toBe(true);
    expect(haveOneOverlap(await calls(["one", "two"]))).toBe(false);
  });

  it("of a call with several runs is that of their session, if all have the same", async () => {
    const payloads = [{ items: ["a", "b"] }, { items: ["c", "d"] }];
    const one = { ...many, overlap: "latest", sessionKey: "hook:one" };
    const [first] = await storedFor({ ...mapping, overlap: "latest", sessionKey: "hook:one" }, [{ text: "a" }]);
    const both = await storedFor(one, payloads);
    expect(haveOneOverlap([first!, ...both])).toBe(true);
    const apart = { ...many, overlap: "latest", sessionKey: "hook:{{items[0]}}" };
    const unnamed = await storedFor(apart, payloads, NAMED);
    expect(haveOneOverlap(unnamed)).toBe(true);
    expect(haveOneOverlap([first!, ...unnamed])).toBe(false);
  });

  it("is not made where wakes are among the runs: they take no time", async () => {
    bench.hooks.actions.tap("wakes", (actions): readonly Action[] => [
      ...actions,
      { kind: "wake", text: "x", mode: "now" },
    ]);
    const [delivery] = await storedFor({ ...mapping, overlap: "skip" }, [{ text: "a" }]);
    expect(delivery).not.toHaveProperty("overlap");
  });

  it("is not made by a call that has no run", async () => {
    const [delivery] = await storedFor({ ...many, overlap: "skip" }, [{ items: [] }]);
    expect(delivery).toMatchObject({ runs: [], ended: { state: "skipped" } });
    expect(delivery).not.toHaveProperty("overlap");
  });
});

describe("the coalesce claim", () => {
  const coalesce = { key: "{{repo}}", windowSeconds: 10, maxWaitSeconds: 60 };

  it("has the mapping's times and its key, rendered over the call; the run says how calls are told", async () => {
    const own = { ...mapping, coalesce: { ...coalesce, mode: "list" } };
    const [first, same, other] = await storedFor(own, [
      { text: "a", repo: "site" },
      { text: "b", repo: "site" },
      { text: "c", repo: "docs" },
    ]);
    expect(first?.coalesce).toMatchObject({ windowMs: 10_000, maxWaitMs: 60_000 });
    expect(hex(same?.coalesce?.key)).toBe(hex(first?.coalesce?.key));
    expect(hex(other?.coalesce?.key)).not.toBe(hex(first?.coalesce?.key));
    expect(first?.runs[0]?.spec.coalesce).toBe("list");
  });

  it("is not made by what became several runs: each speaks for itself", async () => {
    bench.hooks.actions.tap("twice", (actions) => [...actions, ...actions]);
    const [delivery] = await storedFor({ ...mapping, coalesce }, [{ text: "a" }]);
    expect(delivery?.runs).toHaveLength(2);
    expect(delivery).not.toHaveProperty("coalesce");
    expect(delivery?.runs.map(({ spec }) => spec.coalesce)).toEqual([undefined, undefined]);
  });
});
