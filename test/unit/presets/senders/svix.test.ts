import { describe, expect, it } from "vitest";
import { svix } from "../../../../src/presets/senders/svix.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset svix", () => {
  itReadsSamples(svix, {
    "invoice.paid": {
      event: "invoice.paid",
      message: ["Webhook: invoice.paid", "id: inv_1007", "customer: Ada Lovelace", "amount: 4250"],
    },
    "message.received": {
      event: "message.received",
      message: [
        "Webhook: message.received",
        "event_id: evt_5f2c9a",
        'message: {"from":"Ada <ada@example.com>","subject":"Hello","preview":"I wanted to ask"}',
      ],
    },
    "message.attempt.exhausted": {
      event: "message.attempt.exhausted",
      message: [
        "Webhook: message.attempt.exhausted",
        "appId: app_1srOrx2ZWZBpBUvZwXKQmoEYga2",
        "endpointId: ep_1srOrx2ZWZBpBUvZwXKQmoEYga2",
        "msgId: msg_1007",
      ],
    },
  });
});

describe("events that Svix delivers", () => {
  it.each<[string, object]>([
    ["event_type", { event_type: "a.b", type: "event" }],
    ["eventType", { eventType: "a.b" }],
    ["type", { type: "a.b" }],
    ["event", { event: "a.b" }],
  ])("are named by %s", (_, payload) => {
    expect(readSample(svix, { payload })).toMatchObject({ event: "a.b", message: "Webhook: a.b" });
  });

  it("are known by the signed header svix-id", () => {
    const sample = { headers: { "svix-id": "msg_1" }, payload: {} };
    expect(readSample(svix, sample)).toMatchObject({
      event: undefined,
      deliveryId: "msg_1",
      message: "Webhook: new event\nId: msg_1",
    });
    expect(svix.deliveryIdSigned).toBe(true);
  });
});
