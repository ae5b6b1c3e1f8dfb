import { definePreset } from "../define-preset.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent } from "../preset.ts";
import { changeLines } from "../message/change-lines.ts";
import { words } from "../message/headline.ts";
import { headline, lineAt, phrase, titled } from "../message/headline.ts";
import { minorAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

/** Currencies that Stripe counts otherwise than ISO 4217: docs.stripe.com/currencies, special cases. */
const STRIPE_DIGITS = { ISK: 2, UGX: 2, MGA: 0 };

/** The subject of an event, and what happened to it. */
const STORIES: Readonly<Record<string, readonly [what: string, how: string]>> = {
  "charge.succeeded": ["Charge", "succeeded"],
  "charge.failed": ["Charge", "failed"],
  "charge.refunded": ["Charge", "was refunded"],
  "charge.dispute.created": ["Charge", "was disputed"],
  "charge.dispute.closed": ["Dispute", "was closed"],
  "checkout.session.completed": ["Checkout", "was completed"],
  "checkout.session.expired": ["Checkout", "expired"],
  "checkout.session.async_payment_failed": ["Delayed payment of a checkout", "failed"],
  "checkout.session.async_payment_succeeded": ["Delayed payment of a checkout", "succeeded"],
  "customer.created": ["Customer", "was created"],
  "customer.deleted": ["Customer", "was deleted"],
  "customer.subscription.created": ["Subscription", "was created"],
  "customer.subscription.updated": ["Subscription", "was changed"],
  "customer.subscription.deleted": ["Subscription", "ended"],
  "customer.subscription.paused": ["Subscription", "was paused"],
  "customer.subscription.trial_will_end": ["Subscription", "will soon end its trial"],
  "invoice.created": ["Invoice", "was created"],
  "invoice.finalized": ["Invoice", "was finalized"],
  "invoice.overdue": ["Invoice", "is overdue"],
  "invoice.paid": ["Invoice", "was paid"],
  "invoice.payment_succeeded": ["Payment", "succeeded"],
  "invoice.payment_failed": ["Payment", "failed"],
  "invoice.payment_action_required": ["Payment", "needs the customer to act"],
  "payment_intent.succeeded": ["Payment", "succeeded"],
  "payment_intent.payment_failed": ["Payment", "failed"],
  "payment_intent.canceled": ["Payment", "was canceled"],
  "payout.created": ["Payout", "was created"],
  "payout.paid": ["Payout", "was paid"],
  "payout.failed": ["Payout", "failed"],
  "refund.created": ["Refund", "was created"],
  "refund.failed": ["Refund", "failed"],
};

const USUAL_AMOUNTS = ["amount_total", "amount_due", "amount", "items.data[0].price.unit_amount", "plan.amount"];
const AMOUNTS: Readonly<Record<string, readonly string[]>> = {
  "charge.refunded": ["amount_refunded"],
  "invoice.paid": ["amount_paid"],
  "invoice.payment_succeeded": ["amount_paid"],
};

/** Payments, invoices, subscriptions, disputes and payouts of Stripe. */
export const stripe = definePreset({
  name: "stripe",
  title: "Stripe",
  documentation: "https://docs.stripe.com/webhooks",
  auth: {
    scheme: "signature",
    from: "header:stripe-signature",
    pair: "v1",
    separator: ",",
    content: "{timestamp}.{body}",
    timestamp: { from: "pair:t", toleranceSeconds: 300 },
  },
  secret: {
    label: "Signing secret",
    madeBy: "sender",
    minLength: 24,
    known: ["whsec_test_secret", "whsec_12345", "whsec_..."],
  },
  event: "body:type",
  deliveryId: { from: "body:id", signed: true },
  skip: ({ event }) => (event === "v2.core.event_destination.ping" ? "a ping of Stripe" : undefined),
  message,
  mapping: { name: "Stripe", links: ["dashboard.stripe.com"], maxBodyBytes: 1_048_576 },
  success: { statuses: "2xx", otherwise: "tries again for 3 days, then may disable the endpoint" },
  ignored: "pings. Stripe marks no bots",
  samples: {
    "invoice.payment_failed": sample("invoice.payment_failed", "evt_1QsampleInvoiceFailed", {
      id: "in_1QsampleAda",
      object: "invoice",
      amount_due: 4900,
      amount_paid: 0,
      attempt_count: 2,
      currency: "eur",
      customer: "cus_SampleAda",
      customer_email: "ada@example.com",
      customer_name: "Ada Byron",
      hosted_invoice_url: "https://invoice.stripe.com/i/acct_sample/test_sample",
      last_finalization_error: null,
      lines: { object: "list", data: [{ id: "il_1", description: "1 × Workshop (at €49.00 / month)", amount: 4900 }] },
      next_payment_attempt: 1_795_435_200,
      number: "ADA-0042",
      status: "open",
    }),
    "payment_intent.payment_failed": sample("payment_intent.payment_failed", "evt_1QsampleIntentFailed", {
      id: "pi_3Qsample",
      object: "payment_intent",
      amount: 4900,
      currency: "eur",
      customer: null,
      last_payment_error: { code: "card_declined", message: "Your card was declined.", type: "card_error" },
      receipt_email: "ada@example.com",
      status: "requires_payment_method",
    }),
    "checkout.session.completed": sample("checkout.session.completed", "evt_1QsampleCheckout", {
      id: "cs_test_sample42",
      object: "checkout.session",
      amount_total: 12_500,
      client_reference_id: "order-1001",
      currency: "jpy",
      customer: null,
      customer_details: { email: "grace@example.com", name: "Grace Murray" },
      mode: "payment",
      payment_status: "paid",
      status: "complete",
    }),
    "charge.dispute.created": sample("charge.dispute.created", "evt_1QsampleDispute", {
      id: "du_1Qsample",
      object: "dispute",
      amount: 129_900,
      charge: "ch_3Qsample",
      currency: "usd",
      evidence_details: { due_by: 1_796_083_199, has_evidence: false },
      reason: "product_not_received",
      status: "needs_response",
    }),
    "payout.paid": sample("payout.paid", "evt_1QsamplePayout", {
      id: "po_1Qsample",
      object: "payout",
      amount: 250_075,
      arrival_date: 1_795_176_000,
      currency: "gbp",
      description: "STRIPE PAYOUT",
      method: "standard",
      status: "paid",
    }),
  },
  setup: [
    "In Stripe's dashboard open Developers (Workbench), Webhooks, and add a destination.",
    "Choose the events that your agent needs, such as invoice.payment_failed and charge.dispute.created.",
    "Choose webhook endpoint as the type and paste {url} as its URL.",
    "Reveal the {secret} of the new destination (it begins with whsec_) and put it in the configuration.",
  ],
});

function message({ payload, event }: PresetEvent): string {
  const object = valueAt(payload, "data.object");
  const story = event !== undefined && Object.hasOwn(STORIES, event) ? STORIES[event] : undefined;
  const ids = idLines(payload, object);
  if (story === undefined || event === undefined) {
    return genericMessage({ title: "Stripe", event, object: object ?? valueAt(payload, "related_object"), lines: ids });
  }
  const [what, how] = story;
  const said = headline(
    what,
    phrase("of", amountOf(event, object)),
    customerOf(object),
    phrase("from", payerOf(object)),
    how,
  );
  return messageOf(
    titled(said, reasonOf(object)),
    itemLines(listAt(object, "lines.data"), (line) => lineAt(line, "description"), 5),
    labeled("Description", lineAt(object, "description")),
    labeled("Status", words(textAt(object, "status"))),
    subscriptionLines(object),
    changeLines(valueAt(payload, "data.previous_attributes"), object),
    labeled("Attempt", textAt(object, "attempt_count")),
    labeled("Next attempt", timeText(valueAt(object, "next_payment_attempt"))),
    labeled("Evidence due by", timeText(valueAt(object, "evidence_details.due_by"))),
    labeled("Arrives", timeText(valueAt(object, "arrival_date"))),
    labeled("Reference", lineAt(object, "client_reference_id")),
    ids,
  );
}

/** Plan and end of a subscription; nothing for any other object. */
function subscriptionLines(object: unknown): readonly string[] {
  if (valueAt(object, "object") !== "subscription") return [];
  const item = valueAt(object, "items.data[0]");
  const why = valueAt(object, "cancellation_details");
  return [
    labeled("Plan", planOf(item)),
    valueAt(object, "cancel_at_period_end") === true ? "It ends with the current period." : "",
    labeled("Ends", timeText(valueAt(object, "ended_at") ?? valueAt(object, "cancel_at"))),
    labeled("Period until", timeText(valueAt(item, "current_period_end") ?? valueAt(object, "current_period_end"))),
    labeled("Trial until", timeText(valueAt(object, "trial_end"))),
    labeled(
      "Canceled because",
      joinText(", ", words(textAt(why, "reason")), words(textAt(why, "feedback")), lineAt(why, "comment")),
    ),
  ].filter((line) => line !== "");
}

/** `2 x Team, 20.00 USD a month (price_1)`. */
function planOf(item: unknown): string {
  const price = valueAt(item, "price") ?? valueAt(item, "plan");
  const id = lineAt(price, "id");
  const name = lineAt(price, "nickname", "lookup_key", "product.name", "product");
  const count = textAt(item, "quantity");
  const interval = lineAt(price, "recurring.interval", "interval");
  const every = textAt(price, "recurring.interval_count", "interval_count");
  const cost = minorAmount(
    valueAt(price, "unit_amount") ?? valueAt(price, "amount"),
    valueAt(price, "currency"),
    STRIPE_DIGITS,
  );
  return headline(
    joinText(
      ", ",
      headline(count === "" || count === "1" ? "" : `${count} x`, name),
      headline(cost, phrase(every === "" || every === "1" ? "a" : `every ${every}`, interval)),
    ),
    id === "" || id === name ? "" : `(${id})`,
  );
}

function amountOf(event: string, object: unknown): string {
  const currency = valueAt(object, "currency");
  for (const path of AMOUNTS[event] ?? USUAL_AMOUNTS) {
    const amount = minorAmount(valueAt(object, path), currency, STRIPE_DIGITS);
    if (amount !== "") return amount;
  }
  return "";
}

/** The customer whom an event is about, not by whom it came. */
function customerOf(object: unknown): string {
  if (valueAt(object, "object") !== "customer") return "";
  return personText(lineAt(object, "name"), lineAt(object, "email"));
}

function payerOf(object: unknown): string {
  const name = lineAt(object, "customer_name", "customer_details.name", "billing_details.name");
  const email = lineAt(
    object,
    "customer_email",
    "customer_details.email",
    "receipt_email",
    "billing_details.email",
    "last_payment_error.payment_method.billing_details.email",
  );
  return personText(name, email);
}

function reasonOf(object: unknown): string {
  const text = lineAt(object, "last_payment_error.message", "failure_message", "last_finalization_error.message");
  return text === "" ? words(textAt(object, "reason")) : text;
}

function idLines(payload: unknown, object: unknown): readonly string[] {
  const eventId = lineAt(payload, "id");
  const isTest = valueAt(payload, "livemode") === false;
  const dashboard = `https://dashboard.stripe.com/${isTest ? "test/" : ""}events/`;
  return [
    isTest ? "Test mode: no money moved." : "",
    labeled("Number", lineAt(object, "number")),
    labeled("Customer", lineAt(object, "customer.id", "customer")),
    labeled("Subscription", lineAt(object, "subscription", "parent.subscription_details.subscription")),
    labeled("Charge", lineAt(object, "charge")),
    labeled("Payment", lineAt(object, "payment_intent")),
    labeled("Account", lineAt(payload, "account")),
    labeled("Id", lineAt(object, "id")),
    labeled("Link", lineAt(object, "hosted_invoice_url", "receipt_url")),
    labeled("Event", /^evt_\w+$/.test(eventId) ? dashboard + eventId : eventId),
  ].filter((line) => line !== "");
}

/** An event around an object, as Stripe sends it. */
function sample(type: string, id: string, object: Readonly<Record<string, unknown>>): { payload: unknown } {
  return {
    payload: {
      id,
      object: "event",
      api_version: "2026-09-30.clover",
      created: 1_795_175_990,
      data: { object },
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type,
    },
  };
}
