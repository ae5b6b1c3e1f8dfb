import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Action } from "../../../../src/core/delivery.ts";
import { isRefusal, refuse } from "../../../../src/core/errors.ts";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { accept } from "../../../../src/ingress/stages/accept.ts";
import type { Accepted } from "../../../../src/ingress/commit.ts";
import { filter } from "../../../../src/ingress/stages/filter.ts";
import { parse } from "../../../../src/ingress/stages/parse.ts";
import { policy } from "../../../../src/ingress/stages/policy.ts";
import { render } from "../../../../src/ingress/stages/render.ts";
import type { Rendered } from "../../../../src/ingress/stages/render.ts";
import { resolve } from "../../../../src/ingress/stages/resolve.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import type { NewDelivery } from "../../../../src/storage/new-delivery.ts";
import { acceptedBy, callPipeline } from "./pipeline-calls.ts";
import { CREDENTIAL, verifiedRequest, RECEIVED_AT, StageBench } from "./stage-bench.ts";

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
  const active = await bench.active({ ...block, mappings: [own] });
  for (const payload of payloads) {
    const { status } = await callPipeline(bench, active, { path: "in", body: JSON.stringify(payload) });
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
    const active = await bench.active();
    await callPipeline(bench, active, { path: "agent", body: '{"message":"x","deliver":false}' });
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

  it("has the mapping's times and its key, rendered over the call; the run says how calls are listed", async () => {
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

const FAILED: Rendered = {
  actions: [],
  ended: { state: "failed", reason: "The transform in.ts failed: it threw Error: no." },
  failure: refuse("TRANSFORM_FAILED"),
};

interface Call {
  readonly body?: string;
  /** How its sender names it: by a key in a header, or by an id of its own. */
  readonly named: "by key" | "by id" | undefined;
  /** True when the transform makes nothing of it. */
  readonly fails?: boolean;
  readonly replayOf?: string;
}

/** The stages from `parse` to `accept`; what was stored, or why nothing was. */
async function acceptCall(
  active: ActiveConfig,
  { body = '{"text":"a"}', named, fails = false, replayOf }: Call,
): Promise<Accepted | string> {
  const headers = { "content-type": "application/json", ...(named === "by key" && { "idempotency-key": "once" }) };
  const verified = verifiedRequest("in", body, { headers });
  const payload = parse(verified, { accept: [], maxDepth: 64 });
  if (isRefusal(payload)) return payload.refused;
  const found = await resolve(active, { sender: undefined }, verified, payload);
  if (isRefusal(found)) return found.refused;
  const resolved = named === "by id" ? { ...found, ofSender: true, deliveryId: "evt_1" } : found;
  const made = filter(resolved) ?? (await render(bench.ingress, active, verified, resolved));
  const rendered = fails ? FAILED : made;
  if (isRefusal(rendered)) return rendered.refused;
  const specs = await policy(bench.ingress, active, resolved, rendered.actions);
  if (isRefusal(specs)) return specs.refused;
  const outcome = await accept(bench.ingress, active, { verified, payload, resolved, rendered, specs, replayOf });
  return isRefusal(outcome) ? outcome.refused : outcome;
}

async function acceptedCall(active: ActiveConfig, call: Call): Promise<Accepted> {
  const outcome = await acceptCall(active, call);
  if (typeof outcome === "string") throw new Error(`The call was refused: ${outcome}`);
  return outcome;
}

async function states(): Promise<string[]> {
  return (await bench.ingress.store.list({ limit: 10 })).deliveries.map(({ state }) => state);
}

describe("a call whose transform failed", () => {
  it.each(["by key", "by id"] as const)("is a repeat of the first one, known %s, and no dead letter", async (named) => {
    const active = await bench.active({ mappings: [mapping] });
    const first = await acceptedCall(active, { named });
    expect(first).not.toHaveProperty("isRepeat");
    expect(await acceptedCall(active, { named, fails: true })).toEqual({ ...first, isRepeat: true });
    expect(await states()).toEqual(["duplicate", "queued"]);
  });

  it.each(["by key", "by id"] as const)("leaves its next try, known %s, a new call", async (named) => {
    const active = await bench.active({ mappings: [mapping] });
    const tries = [true, true, false].map((fails) => () => acceptedCall(active, { named, fails }));
    const outcomes: Accepted[] = [];
    for (const next of tries) outcomes.push(await next());
    expect(outcomes.map(({ isRepeat, ended }) => [isRepeat, ended])).toEqual([
      [undefined, "failed"],
      [undefined, "failed"],
      [undefined, undefined],
    ]);
    expect(await states()).toEqual(["queued", "failed", "failed"]);
  });

  it("is refused when its key is that of another request, and is not stored", async () => {
    const active = await bench.active({ mappings: [mapping] });
    await acceptedCall(active, { named: "by key" });
    const other = { body: '{"text":"b"}', named: "by key", fails: true } as const;
    expect(await acceptCall(active, other)).toBe("IDEMPOTENCY_CONFLICT");
    expect(await states()).toEqual(["queued"]);
  });

  it("is no duplicate without a name, nor as a replay", async () => {
    const active = await bench.active({ mappings: [mapping] });
    await acceptedCall(active, { named: undefined });
    const { deliveryId: replayOf } = await acceptedCall(active, { named: "by key" });
    await acceptedCall(active, { named: undefined, fails: true });
    await acceptedCall(active, { named: "by key", fails: true, replayOf });
    expect(await states()).toEqual(["failed", "failed", "queued", "queued"]);
    expect(accepted.at(-1)).toMatchObject({ replayOf, runs: [] });
    expect(accepted.at(-1)).not.toHaveProperty("idempotency");
  });

  it.each([
    ["filtered", { when: "false" }, { text: "a" }],
    ["skipped", { forEach: "items" }, { text: "a", items: [] }],
    ["coalesced", { coalesce: { key: "k", windowSeconds: 10 } }, { text: "a" }],
    ["skipped by an earlier run", { overlap: "skip" }, { text: "a" }],
  ])("is answered as the first one was that had %s", async (_, settings, payload) => {
    const active = await bench.active({ mappings: [{ ...mapping, ...settings }] });
    const body = JSON.stringify(payload);
    await acceptedCall(active, { body, named: undefined });
    const first = await acceptedCall(active, { body, named: "by key" });
    expect(first.ended).toBeDefined();
    const repeat = await acceptedCall(active, { body, named: "by key", fails: true });
    // The run that a coalesced call became a part of has a session of its own.
    expect({ ...repeat, specs: [] }).toMatchObject({ ...first, specs: [], isRepeat: true });
    expect(repeat.specs.map(({ kind }) => kind)).toEqual(first.specs.map(({ kind }) => kind));
  });
});

describe("a repeat", () => {
  it("is refused as any call is while the first answer cannot be read", async () => {
    const active = await bench.active({ mappings: [mapping] });
    await acceptedCall(active, { named: "by key" });
    bench.ingress.store.loadRun = () => Promise.reject(new StoreError("UNAVAILABLE", "the disk is gone"));
    expect(await acceptCall(active, { named: "by key" })).toBe("STORE_UNAVAILABLE");
  });
});

describe("a full queue", () => {
  it("refuses a call that has a run, and none without, also when its bound was lowered below what is open", async () => {
    const wide = await bench.active({ mappings: [mapping] });
    for (let count = 0; count < 2; count++) await acceptedCall(wide, { named: undefined });
    const narrow = await bench.active({ mappings: [mapping], maxQueuedRuns: 1 });
    expect(await acceptCall(narrow, { named: undefined })).toBe("QUEUE_FULL");
    expect(await acceptedCall(narrow, { named: undefined, fails: true })).toMatchObject({ ended: "failed" });
    const filtering = await bench.active({ mappings: [{ ...mapping, when: "false" }], maxQueuedRuns: 1 });
    expect(await acceptedCall(filtering, { named: undefined })).toMatchObject({ ended: "filtered" });
    expect(await states()).toEqual(["filtered", "failed", "queued", "queued"]);
    expect(bench.ingress.dispatcher.open).toBe(2);
  });
});
