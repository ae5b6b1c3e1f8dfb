import { definePreset } from "../define-preset.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent, PresetSample } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { headline, lineAt, phrase, titled } from "../message/headline.ts";
import { minorAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

/** The subject of an event, longest beginnings of its name first. */
const SUBJECTS: readonly (readonly [beginning: string, what: string])[] = [
  ["subscription_", "Subscription"],
  ["license_key_", "License key"],
  ["affiliate_", "Affiliate"],
  ["order_", "Order"],
];

/** Orders, subscriptions and license keys of Lemon Squeezy. */
export const lemonSqueezy = definePreset({
  name: "lemon-squeezy",
  title: "Lemon Squeezy",
  documentation: "https://docs.lemonsqueezy.com/help/webhooks",
  auth: { scheme: "signature", from: "header:x-signature", encoding: "hex", content: "{body}" },
  secret: { label: "Signing secret", madeBy: "owner" },
  event: "body:meta.event_name",
  // It sends no id: what happened to which object, and when it last changed, is the same in a retry.
  deliveryId: {
    from: ["body:meta.event_name", "body:data.type", "body:data.id", "body:data.attributes.updated_at"],
    signed: true,
  },
  // Any other status counts as a failure and is tried again.
  answer: { status: 200 },
  message,
  mapping: { name: "Lemon Squeezy" },
  success: { statuses: "200", otherwise: "tries up to 3 times more" },
  ignored: "nothing. Lemon Squeezy marks no bots",
  samples: {
    order_created: sample("order_created", "orders", "4201", {
      identifier: "636f855c-1fb9-4c07-b75c-000000000001",
      order_number: 42,
      user_name: "Ada Byron",
      user_email: "ada@example.com",
      currency: "EUR",
      total: 4900,
      total_formatted: "€49.00",
      status: "paid",
      status_formatted: "Paid",
      first_order_item: { product_name: "Workshop", variant_name: "Online" },
      urls: { receipt: "https://app.lemonsqueezy.com/my-orders/sample" },
    }),
    subscription_payment_failed: sample("subscription_payment_failed", "subscription-invoices", "4202", {
      subscription_id: 17,
      user_name: "Grace Murray",
      user_email: "grace@example.com",
      billing_reason: "renewal",
      card_brand: "visa",
      card_last_four: "4242",
      currency: "USD",
      total: 1200,
      status: "pending",
      status_formatted: "Pending",
    }),
    subscription_cancelled: sample("subscription_cancelled", "subscriptions", "17", {
      user_name: "Grace Murray",
      user_email: "grace@example.com",
      product_name: "Workshop",
      variant_name: "Monthly",
      status: "cancelled",
      ends_at: "2026-12-20T12:00:00.000000Z",
      renews_at: "2026-12-20T12:00:00.000000Z",
    }),
  },
  setup: [
    "In Lemon Squeezy open Settings, Webhooks, and add a webhook.",
    "Paste {url} as its callback URL and the {secret}, 16 to 40 characters that you choose, as its signing secret.",
    "Tick the events, such as order_created and subscription_payment_failed; test mode has webhooks of its own.",
  ],
});

function message({ payload, event = "" }: PresetEvent): string {
  const object = valueAt(payload, "data.attributes");
  const ids = [
    valueAt(payload, "meta.test_mode") === true ? "Test mode: no money moved." : "",
    labeled("Subscription", lineAt(object, "subscription_id")),
    labeled("Order", lineAt(object, "order_id")),
    labeled("Id", lineAt(payload, "data.id")),
    labeled("Link", lineAt(object, "urls.receipt", "urls.invoice_url")),
  ];
  const [beginning, what] = SUBJECTS.find(([beginning]) => event.startsWith(beginning)) ?? [];
  if (beginning === undefined || what === undefined) {
    return genericMessage({ title: "Lemon Squeezy", event, object, lines: ids });
  }
  const said = headline(
    what,
    phrase("number", lineAt(object, "order_number")),
    phrase("of", amountOf(object)),
    phrase("from", personText(lineAt(object, "user_name"), lineAt(object, "user_email"))),
    happened(event.slice(beginning.length)),
  );
  return messageOf(
    said,
    titled(
      lineAt(object, "first_order_item.product_name", "product_name"),
      lineAt(object, "first_order_item.variant_name", "variant_name"),
    ),
    labeled("Status", words(textAt(object, "status"))),
    labeled("Reason", words(textAt(object, "billing_reason"))),
    labeled("Card", headline(lineAt(object, "card_brand"), lineAt(object, "card_last_four"))),
    labeled("Renews", timeText(valueAt(object, "renews_at"))),
    labeled("Ends", timeText(valueAt(object, "ends_at"))),
    ids,
  );
}

/** Refunds come with the whole order; their own amount is beside its total. */
function amountOf(object: unknown): string {
  const isRefund = valueAt(object, "refunded") === true;
  const refunded = isRefund ? minorAmount(valueAt(object, "refunded_amount"), valueAt(object, "currency")) : "";
  return refunded === "" ? minorAmount(valueAt(object, "total"), valueAt(object, "currency")) : refunded;
}

/** An event around an object, as Lemon Squeezy sends it. */
function sample(event: string, type: string, id: string, attributes: Readonly<Record<string, unknown>>): PresetSample {
  return {
    headers: { "x-event-name": event },
    payload: {
      meta: { event_name: event, test_mode: true, custom_data: { customer: "1001" } },
      data: {
        type,
        id,
        attributes: { store_id: 7, ...attributes, test_mode: true, updated_at: "2026-11-20T11:59:59.000000Z" },
      },
    },
  };
}
