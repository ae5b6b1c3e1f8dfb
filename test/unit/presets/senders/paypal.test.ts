import { describe, expect, it } from "vitest";
import { checkPresetBlock } from "../../../../src/config/preset-settings.ts";
import { paypal } from "../../../../src/presets/senders/paypal.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itNamesItsSamples } from "../it-names-its-samples.ts";

const read = (event_type: string, resource: unknown, summary?: string) =>
  readSample(paypal, { payload: { id: "WH-1", event_type, resource, summary } });

describe("paypal", () => {
  itNamesItsSamples(paypal, () => expect.stringMatching(/^WH-/));

  it("does not trust the id, which only a checksum covers", () => {
    expect([paypal.deliveryIdSource, paypal.deliveryIdSigned]).toEqual(["body:id", false]);
  });

  it("gives the opener, amount and reason of a dispute", () => {
    expect(readSample(paypal, paypal.samples["CUSTOMER.DISPUTE.CREATED"]!).message).toBe(
      [
        "Dispute of 129.90 USD from Grace Murray was created: merchandise or service not received",
        "Message: My parcel never came.",
        "Status: open",
        "Response due by: 2026-11-30 12:00 UTC",
        "Transaction: CAPTURE0002SAMPLE",
        "Id: PP-D-1001",
        "Event: WH-SAMPLE-DISPUTE",
      ].join("\n"),
    );
  });

  it("reports a subscription whose payment failed and when it is tried again", () => {
    expect(readSample(paypal, paypal.samples["BILLING.SUBSCRIPTION.PAYMENT.FAILED"]!).message).toMatch(
      /^Subscription of 12\.00 EUR from Ada Byron <ada@example\.com> had a failed payment\n/,
    );
  });

  it("reads amounts of the older interface", () => {
    const sale = { id: "S1", amount: { total: "20.00", currency: "USD" }, state: "completed" };
    expect(read("PAYMENT.SALE.COMPLETED", sale).message).toBe(
      "Payment of 20.00 USD completed\nStatus: completed\nId: S1\nEvent: WH-1",
    );
  });

  it("lists fields and PayPal's own summary of an event that it has no words for", () => {
    expect(read("VAULT.PAYMENT-TOKEN.CREATED", { id: "T1" }, "A payment token has been saved").message).toBe(
      "PayPal event VAULT.PAYMENT-TOKEN.CREATED\nid: T1\nA payment token has been saved\nId: T1\nEvent: WH-1",
    );
  });

  it("signs the webhook's id", () => {
    expect(paypal.auth({ webhookId: "9XL90610J3647323C" }).content).toBe(
      "{header:paypal-transmission-id}|{timestamp}|9XL90610J3647323C|{crc32}",
    );
  });

  it.each([["{body}"], ["9XL90610J3|47323C"], ["short"], [""]])("refuses %j as the webhook's id", (webhookId) => {
    expect(checkPresetBlock(paypal, { webhookId })).not.toEqual([]);
  });

  it("takes a webhook's id as PayPal shows it", () => {
    expect(checkPresetBlock(paypal, { webhookId: "9XL90610J3647323C" })).toEqual([]);
  });

  it("needs no secret", () => {
    expect(paypal.secret).toBeUndefined();
  });
});
