import { describe, expect, it } from "vitest";
import { valueAt } from "../../../../src/core/payload-text.ts";
import { square } from "../../../../src/presets/senders/square.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itNamesItsSamples } from "../it-names-its-samples.ts";

const read = (type: string, object: unknown) =>
  readSample(square, { payload: { event_id: "e-1", type, data: { id: "d-1", object } } });

describe("square", () => {
  itNamesItsSamples(square, ({ payload }) => valueAt(payload, "event_id"));

  it("trusts the id, which is in the signed body", () => {
    expect(square.deliveryIdSigned).toBe(true);
  });

  it("gives the payer, amount and card of a payment", () => {
    expect(readSample(square, square.samples["payment.updated"]!).message).toBe(
      [
        "Payment of 49.00 EUR from ada@example.com was updated",
        "Status: completed",
        "Card: VISA 1111",
        "Note: Two tickets",
        "Order: ORDER0001SAMPLE",
        "Merchant: MERCHANTSAMPLE",
        "Id: PAYMENT0001SAMPLE",
        "Event: 6a8f5f28-54a1-4eb0-a98a-000000000015",
        "Link: https://squareup.com/receipt/preview/PAYMENT0001SAMPLE",
      ].join("\n"),
    );
  });

  it("gives the number, amount and payer of an invoice", () => {
    expect(readSample(square, square.samples["invoice.payment_made"]!).message).toMatch(
      /^Invoice 000042 of 12000 JPY from Grace Murray <grace@example\.com> received a payment\n/,
    );
  });

  it("names a customer without saying that anything came from them", () => {
    const customer = { given_name: "Ada", family_name: "Byron", email_address: "ada@example.com" };
    expect(read("customer.created", { customer }).message).toBe(
      "Customer Ada Byron <ada@example.com> was created\nId: d-1\nEvent: e-1",
    );
  });

  it("gives the change of a dispute's state", () => {
    const dispute = { amount_money: { amount: 500, currency: "GBP" }, reason: "NOT_AS_DESCRIBED", state: "LOST" };
    expect(read("dispute.state.updated", { dispute }).message).toBe(
      "Dispute of 5.00 GBP changed its state: not as described\nStatus: lost\nId: d-1\nEvent: e-1",
    );
  });

  it("lists the main fields of an event that it has no words for", () => {
    expect(read("catalog.version.updated", { catalog_version: { updated_at: "2026-11-20T12:00:00Z" } }).message).toBe(
      'Square event catalog.version.updated\ncatalog_version: {"updated_at":"2026-11-20T12:00:00Z"}\nId: d-1\nEvent: e-1',
    );
  });
});
