import { definePreset } from "../define-preset.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent, PresetSample } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { capitalized, headline, lineAt, phrase, titled } from "../message/headline.ts";
import { minorAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

const KINDS: ReadonlySet<string> = new Set([
  "adjustment",
  "customer",
  "discount",
  "payout",
  "product",
  "subscription",
  "transaction",
]);

const AMOUNTS: readonly (readonly [amount: string, currency: string])[] = [
  ["details.totals.grand_total", "currency_code"],
  ["totals.total", "currency_code"],
  ["amount", "currency_code"],
  ["items[0].price.unit_price.amount", "items[0].price.unit_price.currency_code"],
];

/** Transactions, subscriptions and adjustments of Paddle Billing. */
export const paddle = definePreset({
  name: "paddle",
  title: "Paddle",
  documentation: "https://developer.paddle.com/webhooks/respond-to-webhooks",
  // Paddle's own libraries allow 5 seconds, less than many clocks are wrong; copies are remembered all the same.
  auth: {
    scheme: "signature",
    from: "header:paddle-signature",
    pair: "h1",
    separator: ";",
    content: "{timestamp}:{body}",
    timestamp: { from: "pair:ts", toleranceSeconds: 300 },
  },
  secret: {
    label: "Secret key",
    madeBy: "sender",
    minLength: 32,
    known: [
      "pdl_ntfset_01gkpjp8bkm3tm53kdgkx6sms7_6h3qd3uFSi9YCD3OLYAShQI90XTI5vEI",
      "pdl_ntfset_01gkpjp8bkm3tm53kdgkx6sms7_a7e4a56cf7c1cd80cb1c735c72bab2aa75d06fe08b8c50a18cf6afbcfe834122",
    ],
  },
  event: "body:event_type",
  deliveryId: { from: "body:event_id", signed: true },
  // Any other status counts as a failure and is tried again.
  answer: { status: 200 },
  message,
  mapping: { name: "Paddle" },
  success: { statuses: "200, within 5 seconds", otherwise: "tries up to 60 times in 3 days" },
  ignored: "nothing. Paddle marks no bots",
  samples: {
    "transaction.payment_failed": sample("transaction.payment_failed", "ntf_01sampletransaction", {
      id: "txn_01sampleada",
      status: "past_due",
      customer_id: "ctm_01sampleada",
      subscription_id: "sub_01sampleada",
      currency_code: "EUR",
      invoice_number: null,
      details: { totals: { subtotal: "4100", tax: "800", grand_total: "4900", currency_code: "EUR" } },
      items: [{ quantity: 1, price: { name: "Monthly", description: "Workshop plan" } }],
      payments: [{ amount: "4900", status: "error", error_code: "declined", method_details: { type: "card" } }],
    }),
    "subscription.canceled": sample("subscription.canceled", "ntf_01samplesubscription", {
      id: "sub_01samplegrace",
      status: "canceled",
      customer_id: "ctm_01samplegrace",
      currency_code: "USD",
      canceled_at: "2026-11-20T11:59:57.000Z",
      items: [
        {
          quantity: 2,
          price: { name: "Yearly", unit_price: { amount: "12000", currency_code: "USD" } },
          product: { name: "Workshop" },
        },
      ],
    }),
    "adjustment.created": sample("adjustment.created", "ntfsimntf_01sampleadjustment", {
      id: "adj_01sample",
      action: "refund",
      status: "pending_approval",
      reason: "Bought twice",
      transaction_id: "txn_01sampleada",
      customer_id: "ctm_01sampleada",
      currency_code: "JPY",
      totals: { subtotal: "1000", tax: "100", total: "1100", currency_code: "JPY" },
    }),
  },
  setup: [
    "In Paddle open Developer tools, Notifications, and create a destination of the type URL.",
    "Paste {url} as its URL and tick the events, such as transaction.payment_failed and subscription.canceled.",
    "Open the destination, copy its {secret} (it begins with pdl_ntfset_) and put it in the configuration.",
  ],
});

function message({ payload, event }: PresetEvent): string {
  const object = valueAt(payload, "data");
  const [kind = "", ...action] = (event ?? "").split(".");
  const ids = [
    textAt(payload, "notification_id").startsWith("ntfsim") ? "Simulated: no money moved." : "",
    labeled("Customer", lineAt(object, "customer_id")),
    labeled("Subscription", lineAt(object, "subscription_id")),
    labeled("Transaction", lineAt(object, "transaction_id")),
    labeled("Id", lineAt(object, "id")),
    labeled("Event", lineAt(payload, "event_id")),
  ];
  if (!KINDS.has(kind)) return genericMessage({ title: "Paddle", event, object, lines: ids });
  const said = headline(
    capitalized(kind),
    lineAt(object, "invoice_number"),
    phrase("of", amountOf(object)),
    kind === "customer" ? personText(lineAt(object, "name"), lineAt(object, "email")) : "",
    happened(action.join(" ")),
  );
  return messageOf(
    titled(said, words(textAt(object, "payments[0].error_code"))),
    itemLines(listAt(object, "items"), itemLine),
    labeled("Kind", words(textAt(object, "action"))),
    labeled("Reason", lineAt(object, "reason")),
    labeled("Status", words(textAt(object, "status"))),
    labeled("Canceled", timeText(valueAt(object, "canceled_at"))),
    labeled("Next billing", timeText(valueAt(object, "next_billed_at"))),
    ids,
  );
}

function amountOf(object: unknown): string {
  for (const [amount, currency] of AMOUNTS) {
    const text = minorAmount(valueAt(object, amount), valueAt(object, currency));
    if (text !== "") return text;
  }
  return "";
}

function itemLine(item: unknown): string {
  const product = lineAt(item, "product.name", "price.description");
  const title = joinText(", ", product, lineAt(item, "price.name"));
  return title === "" ? "" : joinText(" × ", lineAt(item, "quantity"), title);
}

/** An event around an entity, as Paddle sends it. */
function sample(type: string, notification: string, data: Readonly<Record<string, unknown>>): PresetSample {
  return {
    payload: {
      event_id: `evt_01sample${type.replaceAll(/\W|_/g, "")}`,
      event_type: type,
      occurred_at: "2026-11-20T11:59:58.120Z",
      notification_id: notification,
      data,
    },
  };
}
