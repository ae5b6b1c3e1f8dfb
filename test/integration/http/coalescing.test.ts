import { describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { ModeledGateway } from "./modeled-gateway.ts";
import type { HookAnswer, RunningGateway } from "./running-gateway.ts";

const mapping = {
  id: "mails",
  match: { path: "mails" },
  messageTemplate: "mail {{n}}",
  deliver: false,
  wakeMode: "next-heartbeat",
};
/** Longer than any of these tests takes, and shorter than it waits. */
const OPEN = { windowSeconds: 3_600, maxWaitSeconds: 3_600 };
const SHORT = { ...OPEN, windowSeconds: 0.1 };

const hooksWith = (coalesce: object, changes: object = {}) => ({
  waitSeconds: 60,
  mappings: [{ ...mapping, coalesce, ...changes }],
});

const startWith = (coalesce: object, changes: object = {}) => ModeledGateway.start(hooksWith(coalesce, changes));

/** The next call ends the coalescing soon: it puts the run off by the window that is active then. */
async function shorten({ gateway }: ModeledGateway, coalesce: object = {}, changes: object = {}): Promise<void> {
  gateway.writeHooks(hooksWith({ ...SHORT, ...coalesce }, changes));
  expect((await gateway.reload()).applied).toBe(true);
}

async function postAll(gateway: RunningGateway, payloads: readonly object[]): Promise<HookAnswer[]> {
  const answers: HookAnswer[] = [];
  for (const payload of payloads) answers.push(await gateway.post("/hooks/mails", payload));
  return answers;
}

const runIdsOf = (answers: readonly HookAnswer[]): unknown[] => answers.map(({ body }) => body["runId"]);

describe("calls of a mapping with coalesce", () => {
  it("become one run: the first one's, whose id the others are answered with", async () => {
    await using modeled = await startWith(OPEN);
    const answers = await postAll(modeled.gateway, [{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(runIdsOf(answers)).size).toBe(1);
    expect(answers.map(({ body }) => body["coalesced"])).toEqual([undefined, true, true]);
    const [first, ...others] = await Promise.all(
      answers.map(({ body }) => modeled.gateway.delivery(body["deliveryId"])),
    );
    expect(first).toMatchObject({ state: "queued", relatedTo: null, runs: [{ calls: 3 }] });
    expect(first?.runs[0]?.dueAt).toEqual(expect.any(String));
    for (const other of others) {
      expect(other).toMatchObject({ state: "coalesced", relatedTo: { how: "coalesced", deliveryId: first?.id } });
    }
  });

  it("run once at the end of the window, and the prompt says how many they were", async () => {
    await using modeled = await startWith(OPEN);
    const answers = await Promise.all([1, 2].map((n) => modeled.gateway.post("/hooks/mails", { n })));
    await shorten(modeled);
    answers.push(await modeled.gateway.post("/hooks/mails", { n: 3 }));
    const owner = answers.find(({ body }) => body["coalesced"] === undefined);
    expect((await modeled.gateway.ended(owner?.body["deliveryId"])).state).toBe("done");
    expect(modeled.model.prompts).toHaveLength(1);
    expect(modeled.model.prompts[0]).toMatch(/\b3\b/);
    const next = await modeled.gateway.post("/hooks/mails", { n: 4 });
    expect(next.body["runId"]).not.toBe(owner?.body["runId"]);
    expect(next.body).not.toHaveProperty("coalesced");
  });

  it("are answered like the first time when they repeat, also after what they became a part of was removed", async () => {
    await using modeled = await startWith(OPEN);
    const { gateway } = modeled;
    const again = () => gateway.post("/hooks/mails", { n: 2 }, { "idempotency-key": "two" });
    const first = await gateway.post("/hooks/mails", { n: 1 });
    await shorten(modeled);
    const second = await again();
    expect(second.body["coalesced"]).toBe(true);
    await gateway.ended(first.body["deliveryId"]);
    await gateway.api("/deliveries/purge", { ids: [first.body["deliveryId"]] });
    expect(await gateway.api(`/deliveries/${String(first.body["deliveryId"])}`)).toMatchObject({ ok: false });
    const repeated = await again();
    expect([repeated.status, repeated.body]).toEqual([202, second.body]);
  });

  it("are each rendered with mode list, and by the latest alone otherwise", async () => {
    for (const mode of ["list", "latest"]) {
      await using modeled = await startWith({ ...OPEN, mode });
      const first = await modeled.gateway.post("/hooks/mails", { n: "one" });
      await shorten(modeled, { mode });
      await modeled.gateway.post("/hooks/mails", { n: "two" });
      await modeled.gateway.ended(first.body["deliveryId"]);
      expect(modeled.model.prompts).toHaveLength(1);
      expect(modeled.model.prompts[0]).toContain("mail two");
      expect(modeled.model.prompts[0]?.includes("mail one")).toBe(mode === "list");
    }
  });

  it("stay apart by the mapping's key, and by the session that they name", async () => {
    await using byKey = await startWith({ ...OPEN, key: "{{repo}}" });
    const keyed = await postAll(byKey.gateway, [
      { n: 1, repo: "a" },
      { n: 2, repo: "b" },
      { n: 3, repo: "a" },
    ]);
    expect(keyed.map(({ body }) => body["coalesced"])).toEqual([undefined, undefined, true]);

    const hooks = {
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [{ ...mapping, coalesce: OPEN, sessionKey: "hook:{{repo}}" }],
    };
    await using bySession = await ModeledGateway.start(hooks);
    const named = await postAll(bySession.gateway, [
      { n: 1, repo: "a" },
      { n: 2, repo: "b" },
      { n: 3, repo: "b" },
    ]);
    expect(named.map(({ body }) => body["coalesced"])).toEqual([undefined, undefined, true]);
    const { runs } = await bySession.gateway.delivery(named[1]?.body["deliveryId"]);
    expect((runs[0]!.spec as AgentSpec).sessionKey).toBe("agent:main:hook:b");
  });

  it("are still coalesced after a restart", async () => {
    await using modeled = await startWith(OPEN);
    const before = await modeled.gateway.post("/hooks/mails", { n: 1 });
    await modeled.gateway.restart();
    const after = await modeled.gateway.post("/hooks/mails", { n: 2 });
    expect(after.body).toMatchObject({ runId: before.body["runId"], coalesced: true });
    expect((await modeled.gateway.delivery(before.body["deliveryId"])).runs[0]?.calls).toBe(2);
  });

  it("that come again are repeats: answered as the first time, and counted once", async () => {
    await using modeled = await startWith(OPEN);
    await modeled.gateway.post("/hooks/mails", { n: 1 });
    const key = { "idempotency-key": "once" };
    const second = await modeled.gateway.post("/hooks/mails", { n: 2 }, key);
    const again = await modeled.gateway.post("/hooks/mails", { n: 2 }, key);
    expect(second.body["coalesced"]).toBe(true);
    expect([again.status, again.text]).toEqual([second.status, second.text]);
    const [, , first] = await modeled.gateway.deliveries();
    expect((await modeled.gateway.delivery(first?.id)).runs[0]?.calls).toBe(2);
  });

  it("of a wake mapping make one event", async () => {
    const wake = {
      action: "wake",
      messageTemplate: undefined,
      textTemplate: "mail {{n}}",
      deliver: undefined,
    };
    await using modeled = await startWith(OPEN, wake);
    const answers = [await modeled.gateway.post("/hooks/mails", { n: 1 })];
    await shorten(modeled, {}, wake);
    answers.push(await modeled.gateway.post("/hooks/mails", { n: 2 }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const owner = answers.find(({ body }) => body["coalesced"] === undefined);
    const delivery = await modeled.gateway.ended(owner?.body["deliveryId"]);
    expect(delivery).toMatchObject({ state: "done", runs: [{ calls: 2 }] });
  });
});
