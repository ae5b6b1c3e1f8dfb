import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { lemonSqueezy } from "../../../../src/presets/senders/lemon-squeezy.ts";
import { receivedCall, readSample, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";

const SECRET = "a-secret-of-lemon-squeezy";
const read = (event_name: string, attributes: unknown) =>
  readSample(lemonSqueezy, { payload: { meta: { event_name }, data: { id: "1", attributes } } });

describe("lemon-squeezy", () => {
  it.each(Object.entries(lemonSqueezy.samples))(
    "names the event of its sample %s, and an id of its own",
    (name, sample) => {
      const { event, deliveryId, sender, skip, answer } = readSample(lemonSqueezy, sample);
      expect({ event, sender, skip, answer }).toEqual({
        event: name,
        sender: undefined,
        skip: undefined,
        answer: { status: 200 },
      });
      const { data } = sample.payload as { data: { type: string; id: string } };
      expect(deliveryId).toBe(`${name}.${data.type}.${data.id}.2026-11-20T11:59:59.000000Z`);
    },
  );

  it("takes the event's name from the signed body, not from its header", () => {
    const sample = lemonSqueezy.samples["order_created"]!;
    expect(readSample(lemonSqueezy, { ...sample, headers: { "x-event-name": "order_refunded" } }).event).toBe(
      "order_created",
    );
  });

  it("names the buyer, the items and the price", () => {
    expect(readSample(lemonSqueezy, lemonSqueezy.samples["order_created"]!).message).toBe(
      [
        "Order number 42 of 49.00 EUR from Ada Byron <ada@example.com> was created",
        "Workshop: Online",
        "Status: paid",
        "Test mode: no money moved.",
        "Id: 4201",
        "Link: https://app.lemonsqueezy.com/my-orders/sample",
      ].join("\n"),
    );
  });

  it("reports a subscription whose payment failed", () => {
    expect(readSample(lemonSqueezy, lemonSqueezy.samples["subscription_payment_failed"]!).message).toMatch(
      /^Subscription of 12\.00 USD from Grace Murray <grace@example\.com> had a failed payment\n/,
    );
  });

  it("says what was refunded of an order, where it says so", () => {
    const order = { total: 4900, currency: "EUR", refunded: true };
    expect(read("order_refunded", { ...order, refunded_amount: 900 }).message).toMatch(
      /^Order of 9\.00 EUR was refunded/,
    );
    expect(read("order_refunded", order).message).toMatch(/^Order of 49\.00 EUR was refunded/);
  });

  it("lists the main fields of an event that it has no words for", () => {
    expect(read("customer_updated", { email: "ada@example.com" }).message).toBe(
      "Lemon Squeezy event customer_updated\nemail: ada@example.com\nId: 1",
    );
  });

  it("verifies the hex digest of the body", async () => {
    const signed = signSample(lemonSqueezy, lemonSqueezy.samples["order_created"]!, { secrets: [SECRET], key: SECRET });
    expect(signed.headers["x-signature"]).toBe(createHmac("sha256", SECRET).update(signed.body).digest("hex"));
    expect((await verifyCall(lemonSqueezy, receivedCall(signed), { secrets: [SECRET] })).ok).toBe(true);
    expect((await verifyCall(lemonSqueezy, receivedCall(signed), { secrets: [`${SECRET}x`] })).ok).toBe(false);
  });
});
