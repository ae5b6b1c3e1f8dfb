import { describe, expect, it } from "vitest";
import { razorpay } from "../../../../src/presets/senders/razorpay.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itNamesItsSamples } from "../it-names-its-samples.ts";

const read = (event: string, payload: unknown) => readSample(razorpay, { payload: { event, payload } }).message;

describe("razorpay", () => {
  itNamesItsSamples(razorpay, (sample) => sample.headers!["x-razorpay-event-id"]);

  it("says that the id is in a header, which is not signed", () => {
    expect(razorpay.deliveryIdSigned).toBe(false);
  });

  it("names the payer, the amount and the cause of a failed payment", () => {
    expect(readSample(razorpay, razorpay.samples["payment.failed"]!).message).toBe(
      [
        "Payment of 499.00 INR from ada@example.com failed: The card was declined by the bank",
        "Description: Workshop",
        "Method: card",
        "Status: failed",
        "Order: order_Sample0001",
        "Id: pay_Sample0001",
        "Account: acc_Sample",
      ].join("\n"),
    );
  });

  it("gives the payment of a subscription", () => {
    expect(readSample(razorpay, razorpay.samples["subscription.charged"]!).message).toMatch(
      /^Subscription of 1200\.00 INR from grace@example\.com was charged\n/,
    );
  });

  it("gives the due date of an answer to a dispute", () => {
    const { message } = readSample(razorpay, razorpay.samples["payment.dispute.created"]!);
    expect(message).toMatch(
      /^Dispute of 990\.00 INR from ada@example\.com was created: goods or services not received\n/,
    );
    expect(message).toContain("\nRespond by: 2026-12-01 00:00 UTC\nPayment: pay_Sample0003\n");
  });

  it("names the customer of a payment link", () => {
    const entity = { id: "plink_1", amount: 100, currency: "INR", customer: { name: "Ada", email: "ada@example.com" } };
    expect(read("payment_link.paid", { payment_link: { entity } })).toBe(
      "Payment link of 1.00 INR from Ada <ada@example.com> was paid\nId: plink_1",
    );
  });

  it("lists the main fields of an event that it has no words for", () => {
    expect(read("fund_account.validated", { fund: "x" })).toBe("Razorpay event fund_account.validated\nfund: x");
  });
});
