import { describe, expect, it } from "vitest";
import { standardWebhooks } from "../../../../src/presets/senders/standard-webhooks/standard-webhooks.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset standard-webhooks", () => {
  itReadsSamples(standardWebhooks, {
    "contact.created": {
      event: "contact.created",
      message: [
        "Webhook: contact.created",
        "id: 1f81eb52-5198-4599-803e-771906343485",
        "name: Ada Lovelace",
        "email: ada@example.com",
        "Time: 2026-11-20T11:59:58.123456Z",
      ],
    },
    "invoice.paid": {
      event: "invoice.paid",
      message: [
        "Webhook: invoice.paid",
        'invoice: {"id":"inv_1007","number":"2026-1007"}',
        "amount: 4250",
        "currency: EUR",
        "Time: 2026-11-20T11:59:58.123456Z",
      ],
    },
    thin: {
      event: "report.ready",
      message: ["Webhook: report.ready", "id: rep_17", "Time: 2026-11-20T11:59:58Z"],
    },
  });
});

describe("events of Standard Webhooks", () => {
  it("are known by the signed header webhook-id", () => {
    const sample = { headers: { "webhook-id": "msg_1" }, payload: { type: "a.b", data: "text" } };
    expect(readSample(standardWebhooks, sample)).toMatchObject({
      deliveryId: "msg_1",
      message: "Webhook: a.b\ntext\nId: msg_1",
    });
    expect(standardWebhooks.deliveryIdSigned).toBe(true);
  });

  it("show the whole payload when it has no data", () => {
    const payload = { type: "a.b", timestamp: "2026-11-20T12:00:00Z", name: "Ada" };
    expect(readSample(standardWebhooks, { payload }).message).toBe(
      "Webhook: a.b\nname: Ada\nTime: 2026-11-20T12:00:00Z",
    );
  });

  it("are named in general words without a type", () => {
    expect(readSample(standardWebhooks, { payload: {} }).message).toBe("Webhook: new event");
  });

  it("are not signed with a secret of the documentation", () => {
    expect(standardWebhooks.secret).toMatchObject({ minLength: 32, madeBy: "sender", required: true });
    expect(standardWebhooks.secret?.known).toContain("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  });
});
