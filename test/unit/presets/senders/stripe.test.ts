import { describe, expect, it } from "vitest";
import { stripe } from "../../../../src/presets/senders/stripe.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itNamesItsSamples } from "../it-names-its-samples.ts";

const read = (type: string, object: unknown, further: Readonly<Record<string, unknown>> = {}) =>
  readSample(stripe, { payload: { id: "evt_1", type, data: { object }, ...further } });

describe("stripe", () => {
  itNamesItsSamples(stripe, () => expect.stringMatching(/^evt_/));

  it("trusts the id, which is in the signed body", () => {
    expect([stripe.deliveryIdSource, stripe.deliveryIdSigned]).toEqual(["body:id", true]);
  });

  it("gives the payer, amount and next try of a failed payment", () => {
    expect(readSample(stripe, stripe.samples["invoice.payment_failed"]!).message).toBe(
      [
        "Payment of 49.00 EUR from Ada Byron <ada@example.com> failed",
        "1 × Workshop (at €49.00 / month)",
        "Status: open",
        "Attempt: 2",
        "Next attempt: 2026-11-23 12:00 UTC",
        "Test mode: no money moved.",
        "Number: ADA-0042",
        "Customer: cus_SampleAda",
        "Id: in_1QsampleAda",
        "Link: https://invoice.stripe.com/i/acct_sample/test_sample",
        "Event: https://dashboard.stripe.com/test/events/evt_1QsampleInvoiceFailed",
      ].join("\n"),
    );
  });

  it("says why a card was declined", () => {
    expect(readSample(stripe, stripe.samples["payment_intent.payment_failed"]!).message).toMatch(
      /^Payment of 49\.00 EUR from ada@example\.com failed: Your card was declined\.\n/,
    );
  });

  it("writes currencies without hundredths as they are", () => {
    expect(readSample(stripe, stripe.samples["checkout.session.completed"]!).message).toMatch(
      /^Checkout of 12500 JPY from Grace Murray <grace@example\.com> was completed\n/,
    );
  });

  it("counts a currency as Stripe does", () => {
    expect(read("payout.paid", { amount: 12_300, currency: "isk" }).message).toMatch(/^Payout of 123\.00 ISK was paid/);
    expect(read("payout.paid", { amount: 12_300, currency: "mga" }).message).toMatch(/^Payout of 12300 MGA was paid/);
  });

  it("says what was refunded, not what was charged", () => {
    const charge = { object: "charge", amount: 4900, amount_refunded: 1200, currency: "usd" };
    expect(read("charge.refunded", charge).message).toMatch(/^Charge of 12\.00 USD was refunded/);
  });

  it("says what was paid of an invoice, not what was due", () => {
    const invoice = { object: "invoice", amount_due: 4900, amount_paid: 1200, currency: "usd" };
    expect(read("invoice.paid", invoice).message).toMatch(/^Invoice of 12\.00 USD was paid/);
  });

  it("names a customer by name and address", () => {
    const customer = { object: "customer", id: "cus_1", name: "Ada Byron", email: "ada@example.com" };
    expect(read("customer.created", customer, { livemode: true }).message).toBe(
      [
        "Customer Ada Byron <ada@example.com> was created",
        "Id: cus_1",
        "Event: https://dashboard.stripe.com/events/evt_1",
      ].join("\n"),
    );
  });

  it("lists the main fields of an event that it has no words for", () => {
    expect(read("tax_rate.updated", { id: "txr_1", percentage: 22, inclusive: true, country: null }).message).toBe(
      [
        "Stripe event tax_rate.updated",
        "id: txr_1",
        "percentage: 22",
        "inclusive: true",
        "Id: txr_1",
        "Event: https://dashboard.stripe.com/events/evt_1",
      ].join("\n"),
    );
  });

  it("names the object of a thin event", () => {
    const related_object = { id: "mtr_1", type: "billing.meter", url: "/v1/billing/meters/mtr_1" };
    expect(read("v1.billing.meter.no_meter_found", undefined, { data: undefined, related_object }).message).toContain(
      "url: /v1/billing/meters/mtr_1",
    );
  });

  it("makes no link of an id that is none", () => {
    expect(read("payout.paid", {}, { id: "x/../y" }).message).toBe("Payout was paid\nEvent: x/../y");
  });

  it("skips the ping of an event destination", () => {
    expect(read("v2.core.event_destination.ping", {}).skip).toBe("a ping of Stripe");
  });

  it("says that a subscription was canceled at the end of its period, by whom and why", () => {
    // From docs.stripe.com/api/subscriptions/object and the event after a cancellation in the customer portal.
    const object = {
      id: "sub_1MowQVLkdIwHu7ixeRlqHVzs",
      object: "subscription",
      cancel_at: 1_797_768_000,
      cancel_at_period_end: true,
      canceled_at: 1_795_176_000,
      cancellation_details: { comment: "We moved on.", feedback: "switched_service", reason: "cancellation_requested" },
      currency: "usd",
      customer: "cus_Na6dX7aXxi11N4",
      items: {
        object: "list",
        data: [
          {
            id: "si_1",
            current_period_end: 1_797_768_000,
            price: {
              id: "price_1MowQULkdIwHu7ixraBm864M",
              currency: "usd",
              nickname: "Team",
              product: "prod_Na6dGcTsmU0I4R",
              recurring: { interval: "month", interval_count: 1 },
              unit_amount: 2000,
            },
            quantity: 2,
          },
        ],
      },
      status: "active",
    };
    const previous_attributes = {
      cancel_at: null,
      cancel_at_period_end: false,
      canceled_at: null,
      cancellation_details: { comment: null, feedback: null, reason: null },
    };
    const data = { object, previous_attributes };
    const lines = read("customer.subscription.updated", object, { data }).message.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        "Subscription of 20.00 USD was changed",
        "Status: active",
        "Plan: 2 x Team, 20.00 USD a month (price_1MowQULkdIwHu7ixraBm864M)",
        "It ends with the current period.",
        "Ends: 2026-12-20 12:00 UTC",
        "Canceled because: cancellation requested, switched service, We moved on.",
        "Changed cancel at period end: false, now true",
        "Changed cancel at: none, now 2026-12-20 12:00 UTC",
        "Customer: cus_Na6dX7aXxi11N4",
        "Id: sub_1MowQVLkdIwHu7ixeRlqHVzs",
      ]),
    );
  });
});
