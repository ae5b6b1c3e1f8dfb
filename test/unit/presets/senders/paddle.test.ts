import { describe, expect, it } from "vitest";
import { paddle } from "../../../../src/presets/senders/paddle.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";

const read = (event_type: string, data: unknown) =>
  readSample(paddle, { payload: { event_id: "evt_1", event_type, data } });

describe("paddle", () => {
  it.each(Object.entries(paddle.samples))("names the event and the id of its sample %s", (name, sample) => {
    const { event, deliveryId, sender, skip } = readSample(paddle, sample);
    expect({ event, sender, skip }).toEqual({ event: name, sender: undefined, skip: undefined });
    expect(deliveryId).toMatch(/^evt_01/);
  });

  it("answers 200, which Paddle takes for the only success", () => {
    expect(readSample(paddle, paddle.samples["adjustment.created"]!).answer).toEqual({ status: 200 });
  });

  it("gives the amount, purpose and cause of a failed payment", () => {
    expect(readSample(paddle, paddle.samples["transaction.payment_failed"]!).message).toBe(
      [
        "Transaction of 49.00 EUR had a failed payment: declined",
        "1 × Workshop plan, Monthly",
        "Status: past due",
        "Customer: ctm_01sampleada",
        "Subscription: sub_01sampleada",
        "Id: txn_01sampleada",
        "Event: evt_01sampletransactionpaymentfailed",
      ].join("\n"),
    );
  });

  it("says of a simulation that it is one, and what is refunded", () => {
    expect(readSample(paddle, paddle.samples["adjustment.created"]!).message).toBe(
      [
        "Adjustment of 1100 JPY was created",
        "Kind: refund",
        "Reason: Bought twice",
        "Status: pending approval",
        "Simulated: no money moved.",
        "Customer: ctm_01sampleada",
        "Transaction: txn_01sampleada",
        "Id: adj_01sample",
        "Event: evt_01sampleadjustmentcreated",
      ].join("\n"),
    );
  });

  it("names a customer by name and address", () => {
    expect(read("customer.created", { id: "ctm_1", name: "Ada Byron", email: "ada@example.com" }).message).toBe(
      "Customer Ada Byron <ada@example.com> was created\nId: ctm_1\nEvent: evt_1",
    );
  });

  it("lists the main fields of an event that it has no words for", () => {
    expect(read("address.created", { id: "add_1", city: "Turin", first_line: null }).message).toBe(
      "Paddle event address.created\nid: add_1\ncity: Turin\nId: add_1\nEvent: evt_1",
    );
  });
});
