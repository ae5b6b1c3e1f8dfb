import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import type { AgentSpec } from "../../../src/core/run.ts";
import { agentPrompt, wakeText } from "../../../src/dispatch/run/agent-prompt.ts";
import { isRefusal } from "../../../src/core/errors.ts";
import type { ActiveConfig } from "../../../src/ingress/active-config.ts";
import { replayDelivery } from "../../../src/ingress/replay.ts";
import type { Accepted } from "../../../src/ingress/commit.ts";
import { StoreError } from "../../../src/storage/delivery-store.ts";
import { callPipeline, WITH_TOKEN } from "./stages/pipeline-calls.ts";
import { RECEIVED_AT, StageBench } from "./stages/stage-bench.ts";

const SECRET = "secret-of-the-replay-tests-8c1e";
const mapping = { id: "in", match: { path: "in" }, messageTemplate: "as it was: {{text}}", deliver: false };
const changed = { ...mapping, messageTemplate: "as it is: {{text}}" };
const STORED = { asAccepted: false };
const AS_ACCEPTED = { asAccepted: true };

let bench: StageBench;
beforeEach(async () => {
  bench = await StageBench.open();
});
afterEach(() => bench[Symbol.asyncDispose]());

interface Sent {
  readonly status: number;
  readonly id: string;
}

/** Sends a call through the pipeline; gives its status and the delivery's id. */
async function send(active: ActiveConfig, path: string, body: string, headers = WITH_TOKEN): Promise<Sent> {
  const { status, payload } = await callPipeline(bench, active, { path, body, headers });
  const id = payload === "" ? "" : String((JSON.parse(payload) as { deliveryId?: string }).deliveryId);
  return { status, id };
}

/** Replays a delivery and reads the new one; the code when it is refused. */
async function replayed(active: ActiveConfig, id: string, how = STORED): Promise<DeliveryDetail | string> {
  const outcome = await replayDelivery(bench.ingress, active, id, how);
  if (isRefusal(outcome)) return outcome.refused;
  return (await bench.ingress.store.get(outcome.own.deliveryId))!;
}

function messageOf(delivery: DeliveryDetail | string): string {
  return typeof delivery === "string" ? delivery : (delivery.runs[0]!.spec as AgentSpec).message;
}

function signedBy(body: string): readonly string[] {
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  return [
    "Content-Type: application/json",
    "X-GitHub-Event: push",
    "X-GitHub-Delivery: same",
    `X-Hub-Signature-256: sha256=${signature}`,
  ];
}

describe("a replay of the stored bytes", () => {
  it("is a delivery of its own that follows the active configuration and names the first", async () => {
    const before = await bench.active({ mappings: [mapping] });
    const { id } = await send(before, "in?a=1", '{"text":"x"}');
    const after = await bench.active({ mappings: [changed] });
    const again = await replayed(after, id);
    expect(messageOf(again)).toBe("as it is: x");
    expect(again).toMatchObject({
      state: "queued",
      route: "in",
      mappingId: "in",
      query: { a: "1" },
      relatedTo: { how: "replay", deliveryId: id },
      receivedAt: new Date(RECEIVED_AT).toISOString(),
    });
    expect(messageOf((await bench.ingress.store.get(id))!)).toBe("as it was: x");
    expect(Buffer.from((await bench.ingress.store.body((again as DeliveryDetail).id))!).toString()).toBe(
      '{"text":"x"}',
    );
  });

  it("is handed to the dispatcher like any other call", async () => {
    const active = await bench.active({ mappings: [mapping], maxQueuedRuns: 2 });
    const { id } = await send(active, "in", '{"text":"x"}');
    expect(bench.ingress.dispatcher.open).toBe(1);
    await replayed(active, id);
    expect(bench.ingress.dispatcher.open).toBe(2);
    expect(await replayed(active, id)).toBe("QUEUE_FULL");
    expect(await replayed(active, id, AS_ACCEPTED)).toBe("QUEUE_FULL");
  });

  it("is no repeat, though it carries the key or the id that made the first call one that is made once", async () => {
    const active = await bench.active({
      mappings: [mapping],
      presets: ["github"],
      github: { secret: SECRET, deliver: false },
    });
    const keyed = [...WITH_TOKEN, "Idempotency-Key: once"];
    const first = await send(active, "in", '{"text":"x"}', keyed);
    expect((await send(active, "in", '{"text":"x"}', keyed)).id).toBe(first.id);
    const seen = new Set([first.id]);
    for (const how of [STORED, STORED, AS_ACCEPTED]) {
      seen.add(((await replayed(active, first.id, how)) as DeliveryDetail).id);
    }
    expect(seen.size).toBe(4);
    expect((await send(active, "in", '{"text":"x"}', keyed)).id).toBe(first.id);

    const body = '{"ref":"refs/heads/main","repository":{"full_name":"acme/site"}}';
    const signed = await send(active, "github", body, signedBy(body));
    const again = (await replayed(active, signed.id)) as DeliveryDetail;
    expect(again).toMatchObject({ state: "queued", mappingId: "github", event: "push" });
    expect(again.id).not.toBe(signed.id);
  });

  it("needs no signature, and goes to the mappings of the sender's path alone", async () => {
    const block = {
      mappings: [{ ...mapping, id: "any", match: {} }],
      presets: ["github"],
      github: { secret: SECRET, deliver: false },
    };
    const active = await bench.active(block);
    const body = '{"ref":"refs/heads/main","repository":{"full_name":"acme/site"}}';
    const { status, id } = await send(active, "github", body, signedBy(body));
    expect(status).toBe(200);
    const original = (await bench.ingress.store.get(id))!;
    // What it was signed with is no secret of the sender any more.
    const rotated = await bench.active({ ...block, github: { ...block.github, secret: `${SECRET}-rotated` } });
    const again = await replayed(rotated, id);
    expect(again).toMatchObject({ mappingId: "github" });
    expect(messageOf(again)).toBe(messageOf(original));
  });

  it("finds the route of a path whose last segment was a secret", async () => {
    const auth = { scheme: "secret", from: "path", secret: SECRET };
    const own = { ...mapping, match: { path: "deep/in" }, auth };
    const active = await bench.active({ mappings: [{ ...mapping, id: "any", match: {} }, own] });
    const { status, id } = await send(active, `deep/in/${SECRET}`, '{"text":"x"}', []);
    expect(status).toBe(202);
    expect(await replayed(active, id)).toMatchObject({ state: "queued", route: "deep/in", mappingId: "in" });
  });

  it("reads the body as it was sent: forms too", async () => {
    const active = await bench.active({ mappings: [{ ...mapping, accept: ["form"] }] });
    const headers = [...WITH_TOKEN, "Content-Type: application/x-www-form-urlencoded"];
    const { id } = await send(active, "in", "text=of+a+form", headers);
    expect(messageOf(await replayed(active, id))).toBe("as it was: of a form");
  });

  it("of a fixed endpoint reads the payload again, and waits for nothing", async () => {
    const active = await bench.active({ waitSeconds: 0.1 });
    const { id } = await send(active, "agent", '{"message":"x","deliver":false,"wait":true}');
    expect(messageOf(await replayed(active, id))).toBe("x");
    expect(bench.ingress.watch.count).toBe(0);
  });

  it("may be filtered now, or not any more", async () => {
    const strict = await bench.active({ mappings: [{ ...mapping, when: "payload.text == 'y'" }] });
    const open = await bench.active({ mappings: [mapping] });
    const { id } = await send(strict, "in", '{"text":"x"}');
    expect((await bench.ingress.store.get(id))?.state).toBe("filtered");
    const taken = (await replayed(open, id)) as DeliveryDetail;
    expect(taken.state).toBe("queued");
    expect(await replayed(strict, taken.id)).toMatchObject({ state: "filtered", relatedTo: { deliveryId: taken.id } });
  });

  it("is refused as a call would be: its route is gone, or takes such a body no more", async () => {
    const { id } = await send(await bench.active({ mappings: [mapping] }), "in", '{"text":"x"}');
    expect(await replayed(await bench.active({}), id)).toBe("NOT_FOUND");
    expect(await replayed(await bench.active({ mappings: [{ ...mapping, maxBodyBytes: 1 }] }), id)).toBe(
      "BODY_TOO_LARGE",
    );
    expect(await replayed(await bench.active({ mappings: [{ ...mapping, messageTemplate: "{{gone}}" }] }), id)).toBe(
      "INVALID_ACTION",
    );
  });

  it("is visible to plugins from resolve on, and not as a received request", async () => {
    const active = await bench.active({ mappings: [mapping] });
    const { id } = await send(active, "in", '{"text":"x"}');
    const asked: string[] = [];
    bench.hooks.received.tap("observer", () => void asked.push("received"));
    bench.hooks.authenticate.tap("observer", () => void asked.push("authenticate"));
    bench.hooks.actions.tap("observer", (actions) => (asked.push("actions"), actions));
    bench.hooks.policy.tap("observer", () => void asked.push("policy"));
    bench.hooks.accepted.tap("observer", () => void asked.push("accepted"));
    await replayed(active, id);
    expect(asked).toEqual(["actions", "policy", "accepted"]);
    bench.hooks.policy.tap("strict", () => ({ deny: "Not today." }));
    expect(await replayed(active, id)).toBe("DENIED");
  });

  it("joins the calls that are being coalesced", async () => {
    const coalesce = { windowSeconds: 3_600 };
    const active = await bench.active({ mappings: [{ ...mapping, coalesce }] });
    const { id } = await send(active, "in", '{"text":"x"}');
    const again = (await replayed(active, id)) as DeliveryDetail;
    expect(again.state).toBe("coalesced");
    expect((await bench.ingress.store.get(id))?.runs[0]?.calls).toBe(2);
  });
});

describe("a replay as it was accepted", () => {
  it("repeats agent, session, text and target, whatever the configuration says today", async () => {
    const named = { ...mapping, sessionKey: "hook:one", deliver: true, channel: "console", to: "owner" };
    const { id } = await send(await bench.active({ mappings: [named] }), "in", '{"text":"x"}');
    const again = (await replayed(await bench.active({}), id, AS_ACCEPTED)) as DeliveryDetail;
    const { runs } = (await bench.ingress.store.get(id))!;
    expect(again.runs.map(({ spec }) => spec)).toEqual(runs.map(({ spec }) => spec));
    expect(again).toMatchObject({
      state: "queued",
      route: "in",
      mappingId: "in",
      bodyBytes: 12,
      relatedTo: { how: "replay", deliveryId: id },
    });
  });

  it("repeats every run of a call, each in its lane", async () => {
    const many = { ...mapping, messageTemplate: "{{items[0]}}", forEach: "items", sessionKey: "hook:one" };
    const active = await bench.active({ mappings: [many] });
    const { id } = await send(active, "in", '{"items":["a","b"]}');
    const again = (await replayed(active, id, AS_ACCEPTED)) as DeliveryDetail;
    expect(again.runs.map(({ spec }) => (spec as AgentSpec).message)).toEqual(["a", "b"]);
    const loaded = await Promise.all(again.runIds.map((runId) => bench.ingress.store.loadRun(runId)));
    expect(loaded.map(({ lane }) => lane)).toEqual(["agent:main:hook:one", "agent:main:hook:one"]);
  });

  it("is not coalesced and gives way to no run", async () => {
    const gathering = await bench.active({ mappings: [{ ...mapping, coalesce: { windowSeconds: 3_600 } }] });
    const { id } = await send(gathering, "in", '{"text":"x"}');
    const again = (await replayed(gathering, id, AS_ACCEPTED)) as DeliveryDetail;
    expect(again).toMatchObject({ state: "queued", runs: [{ dueAt: null, calls: 1 }] });
    expect(again.runs[0]?.spec.coalesce).toBeUndefined();

    const skipping = await bench.active({ mappings: [{ ...mapping, overlap: "skip" }] });
    const open = await send(skipping, "in", '{"text":"x"}');
    expect(await replayed(skipping, open.id, AS_ACCEPTED)).toMatchObject({ state: "queued" });
    expect(await replayed(skipping, open.id)).toMatchObject({ state: "skipped" });
  });

  it("repeats of several runs those that are not done or, when all are done, all of them", async () => {
    const many = { ...mapping, messageTemplate: "{{items[0]}}", forEach: "items" };
    const active = await bench.active({ mappings: [many] });
    const { id } = await send(active, "in", '{"items":["a","b","c","d"]}');
    const { store } = bench.ingress;
    const { runIds } = (await store.get(id))!;
    for (const [at, state] of (["done", "failed", "canceled", "skipped"] as const).entries()) {
      await store.settle(runIds[at]!, { state, reason: null });
    }
    const messages = async () => {
      const again = (await replayed(active, id, AS_ACCEPTED)) as DeliveryDetail;
      return again.runs.map(({ spec }) => (spec as AgentSpec).message);
    };
    expect(await messages()).toEqual(["b", "c", "d"]);
    const whole = (await replayed(active, id)) as DeliveryDetail;
    expect(whole.runs).toHaveLength(4);
    for (const runId of whole.runIds) await store.settle(runId, { state: "done", reason: null });
    const again = (await replayed(active, whole.id, AS_ACCEPTED)) as DeliveryDetail;
    expect(again.runs).toHaveLength(4);
  });

  it("is refused where nothing was accepted that could be repeated", async () => {
    const active = await bench.active({ mappings: [{ ...mapping, when: "false" }] });
    const { id } = await send(active, "in", '{"text":"x"}');
    const refusal = await replayDelivery(bench.ingress, active, id, AS_ACCEPTED);
    expect(refusal).toMatchObject({ refused: "PAYLOAD_GONE", message: expect.stringContaining("no runs") as unknown });
  });
});

describe("a replay of a run that has coalesced calls", () => {
  const gathering = (changes: object = {}) => ({ ...mapping, coalesce: { windowSeconds: 3_600 }, ...changes });

  /** Sends calls that become one run, and lets it fail. */
  async function deadLetter(active: ActiveConfig, texts: readonly string[]): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const text of texts) ids.push((await send(active, "in", JSON.stringify({ text }))).id);
    const { store, dispatcher } = bench.ingress;
    const { runIds } = (await store.get(ids[0]!))!;
    await store.stopCoalescing(runIds[0]!);
    await store.settle(runIds[0]!, { state: "failed", reason: "the model is down" });
    dispatcher.withdraw({ runIds, state: "canceled", reason: "" });
    return ids;
  }

  async function promptsOf(runIds: readonly string[]): Promise<readonly string[]> {
    const loaded = await Promise.all(runIds.map((runId) => bench.ingress.store.loadRun(runId)));
    return loaded.map(({ spec, coalesced }) =>
      spec.kind === "wake"
        ? wakeText(spec, coalesced)
        : agentPrompt(spec, { now: new Date(0), interrupted: false, coalesced }),
    );
  }

  it.each(["list", "latest"] as const)(
    "as accepted (%s) gives the agent every call that the run coalesced",
    async (mode) => {
      const active = await bench.active({
        mappings: [gathering({ coalesce: { windowSeconds: 3_600, mode } })],
      });
      const [first] = await deadLetter(active, ["one", "two", "three"]);
      const original = (await bench.ingress.store.get(first!))!;
      const [before] = await promptsOf(original.runIds);
      const again = (await replayed(active, first!, AS_ACCEPTED)) as DeliveryDetail;
      expect(again).toMatchObject({ state: "queued", relatedTo: { deliveryId: first }, runs: [{ calls: 1 }] });
      const [after] = await promptsOf(again.runIds);
      expect(after).toContain("This run serves 3 calls");
      expect(after).toContain("as it was: three");
      expect([after?.includes("as it was: one"), after?.includes("as it was: two")]).toEqual(
        mode === "list" ? [true, true] : [false, false],
      );
      expect(linesOf(after)).toEqual(linesOf(before));
      // What the gateway says of foreign calls stands where it cannot be taken for the owner's words.
      expect(after!.indexOf("This run stands for")).toBeLessThan(after!.indexOf("<<<END_EXTERNAL_UNTRUSTED_CONTENT"));

      const third = await replayed(active, again.id, AS_ACCEPTED);
      expect(messageOf(third)).toBe(messageOf(again));
    },
  );

  it("as accepted works for wakes", async () => {
    const { id, match } = mapping;
    const coalesce = { windowSeconds: 3_600 };
    const wake = { id, match, coalesce, action: "wake", textTemplate: "as it was: {{text}}" };
    const active = await bench.active({ mappings: [wake] });
    const [first] = await deadLetter(active, ["one", "two"]);
    const again = (await replayed(active, first!, AS_ACCEPTED)) as DeliveryDetail;
    const [text] = await promptsOf(again.runIds);
    expect(text).toContain("as it was: two");
    expect(text).toContain("This run serves 2 calls");
  });

  it("as accepted of one of the calls is that call alone", async () => {
    const active = await bench.active({
      mappings: [gathering({ coalesce: { windowSeconds: 3_600, mode: "list" } })],
    });
    const [, second] = await deadLetter(active, ["one", "two", "three"]);
    expect(messageOf(await replayed(active, second!, AS_ACCEPTED))).toBe("as it was: two");
    expect(messageOf(await replayed(active, second!))).toBe("as it was: two");
  });

  it("as accepted is one run that holds all of its calls, and replays none of them a second time", async () => {
    const active = await bench.active({ mappings: [gathering()] });
    const [first] = await deadLetter(active, ["one", "two", "three"]);
    const outcome = await replayDelivery(bench.ingress, active, first!, AS_ACCEPTED);
    expect(outcome).toMatchObject({ members: [], left: [], stopped: undefined });
  });

  it("by today's configuration replays each of its calls, oldest first, which coalesce again", async () => {
    const active = await bench.active({ mappings: [gathering()] });
    const ids = await deadLetter(active, ["one", "two", "three"]);
    const outcome = await replayDelivery(bench.ingress, active, ids[0]!, STORED);
    if (isRefusal(outcome)) throw new Error(outcome.refused);
    expect(outcome.members.map(({ deliveryId }) => deliveryId)).toEqual(ids.slice(1));
    expect(outcome).toMatchObject({ own: { ended: undefined }, left: [], stopped: undefined });
    for (const { result } of outcome.members) {
      expect(result).toMatchObject({ ended: "coalesced", runIds: outcome.own.runIds });
    }
    const again = (await bench.ingress.store.get(outcome.own.deliveryId))!;
    expect(again.runs[0]?.calls).toBe(3);
    const { coalesced: gathered } = await bench.ingress.store.loadRun(again.runIds[0]!);
    expect(gathered?.texts).toEqual(["as it was: one", "as it was: two", "as it was: three"]);
  });

  it("by today's configuration makes a run of each call when the mapping no longer coalesces", async () => {
    const ids = await deadLetter(await bench.active({ mappings: [gathering()] }), ["one", "two"]);
    const today = await bench.active({ mappings: [changed] });
    const outcome = await replayDelivery(bench.ingress, today, ids[0]!, STORED);
    if (isRefusal(outcome)) throw new Error(outcome.refused);
    const [member] = outcome.members;
    const second = (await bench.ingress.store.get((member!.result as Accepted).deliveryId))!;
    expect(second).toMatchObject({ state: "queued", relatedTo: { how: "replay", deliveryId: ids[1] } });
    expect(messageOf(second)).toBe("as it is: two");
  });

  it("stops where the queue is full and says how far it came, and passes over what is refused", async () => {
    const ids = await deadLetter(await bench.active({ mappings: [gathering()] }), ["one", "two", "three", "four"]);
    const small = await bench.active({ mappings: [changed], maxQueuedRuns: 2 });
    expect(await replayDelivery(bench.ingress, small, ids[0]!, STORED)).toMatchObject({
      members: [{ deliveryId: ids[1] }],
      left: ids.slice(2),
      stopped: { refused: "QUEUE_FULL" },
    });
    const { store } = bench.ingress;
    const body = Buffer.from("no JSON");
    const read = store.replayable.bind(store);
    store.replayable = async (id) => {
      const stored = await read(id);
      return id === ids[1] && stored ? { ...stored, body } : id === ids[2] ? undefined : stored;
    };
    const wide = await bench.active({ mappings: [changed] });
    expect(await replayDelivery(bench.ingress, wide, ids[0]!, STORED)).toMatchObject({
      members: [
        { deliveryId: ids[1], result: { refused: "INVALID_JSON" } },
        { deliveryId: ids[2], result: { refused: "DELIVERY_NOT_FOUND" } },
        { deliveryId: ids[3], result: { ended: undefined } },
      ],
      left: [],
      stopped: undefined,
    });
    expect(await replayDelivery(bench.ingress, await bench.active({}), ids[0]!, STORED)).toMatchObject({
      refused: "NOT_FOUND",
    });
  });

  it("is refused while its run cannot be read", async () => {
    const active = await bench.active({ mappings: [gathering()] });
    const [first] = await deadLetter(active, ["one", "two"]);
    bench.ingress.store.loadRun = () => Promise.reject(new StoreError("UNAVAILABLE", "the disk is gone"));
    expect(await replayed(active, first!, AS_ACCEPTED)).toBe("STORE_UNAVAILABLE");
  });
});

/** Without their order, and without what is drawn by lot for each prompt. */
function linesOf(prompt: string | undefined): readonly string[] {
  const lines = (prompt ?? "").split("\n").filter((line) => line !== "");
  return lines.map((line) => line.replaceAll(/[0-9a-f]{16,}/gu, "")).toSorted();
}

describe("a replay", () => {
  it("of unknown deliveries is refused", async () => {
    const active = await bench.active({});
    for (const how of [STORED, AS_ACCEPTED]) {
      expect(await replayed(active, "dlv_none", how)).toBe("DELIVERY_NOT_FOUND");
    }
  });

  it("of a delivery whose request is not kept any more is refused, also as it was accepted", async () => {
    const active = await bench.active({ mappings: [mapping] });
    const { id } = await send(active, "in", '{"text":"x"}', [...WITH_TOKEN, "Idempotency-Key: kept"]);
    const { runIds } = (await bench.ingress.store.get(id))!;
    await bench.ingress.store.settle(runIds[0]!, { state: "done", reason: null });
    const later = RECEIVED_AT + 1;
    for (let more = true; more;) {
      ({ more } = await bench.ingress.store.prune({ now: later, removeBefore: 0, emptyBefore: later, maxBytes: null }));
    }
    expect((await bench.ingress.store.get(id))?.bodyBytes).toBe(0);
    for (const how of [STORED, AS_ACCEPTED]) expect(await replayed(active, id, how)).toBe("PAYLOAD_GONE");
  });

  it("is refused while the store cannot be read, and what is a defect is thrown", async () => {
    const active = await bench.active({});
    const { store } = bench.ingress;
    store.replayable = () => Promise.reject(new StoreError("UNAVAILABLE", "the disk is gone"));
    expect(await replayed(active, "x")).toBe("STORE_UNAVAILABLE");
    expect(bench.logged.at(-1)).toMatchObject({ level: "error", fields: { err: { message: "the disk is gone" } } });
    store.replayable = () => Promise.reject(new StoreError("CLOSED", "closed"));
    expect(await replayed(active, "x")).toBe("SHUTTING_DOWN");
    store.replayable = () => Promise.reject(new TypeError("a defect"));
    await expect(replayed(active, "x")).rejects.toThrow("a defect");
  });
});
