import { definePreset } from "../define-preset.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent, PresetSample } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { capitalized, headline, lineAt, phrase, titled } from "../message/headline.ts";
import { minorAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

/** Names of events begin with one of these, under which its object is in the payload; `payment.dispute` too. */
const KINDS = [
  "payment.dispute",
  "payment_link",
  "payment",
  "refund",
  "order",
  "invoice",
  "subscription",
  "settlement",
  "virtual_account",
  "qr_code",
  "payout",
] as const;

/** Payments, refunds, subscriptions, settlements and disputes of Razorpay. */
export const razorpay = definePreset({
  name: "razorpay",
  title: "Razorpay",
  documentation: "https://razorpay.com/docs/webhooks/",
  auth: { scheme: "signature", from: "header:x-razorpay-signature", encoding: "hex", content: "{body}" },
  secret: { label: "Webhook secret", madeBy: "owner" },
  event: "body:event",
  deliveryId: { from: "header:x-razorpay-event-id", signed: false },
  message,
  mapping: { name: "Razorpay" },
  success: { statuses: "2xx, within 5 seconds", otherwise: "tries again for 24 hours, then disables the webhook" },
  ignored: "nothing. Razorpay marks no bots",
  samples: {
    "payment.failed": sample("payment.failed", {
      payment: {
        entity: {
          id: "pay_Sample0001",
          entity: "payment",
          amount: 49_900,
          currency: "INR",
          status: "failed",
          order_id: "order_Sample0001",
          method: "card",
          email: "ada@example.com",
          contact: "+910000000000",
          description: "Workshop",
          error_code: "BAD_REQUEST_ERROR",
          error_description: "The card was declined by the bank",
          error_reason: "payment_failed",
        },
      },
    }),
    "subscription.charged": sample("subscription.charged", {
      subscription: {
        entity: {
          id: "sub_Sample0002",
          entity: "subscription",
          plan_id: "plan_Sample",
          status: "active",
          paid_count: 3,
        },
      },
      payment: {
        entity: {
          id: "pay_Sample0002",
          amount: 120_000,
          currency: "INR",
          status: "captured",
          email: "grace@example.com",
        },
      },
    }),
    "payment.dispute.created": sample("payment.dispute.created", {
      payment: { entity: { id: "pay_Sample0003", amount: 99_000, currency: "INR", email: "ada@example.com" } },
      dispute: {
        entity: {
          id: "disp_Sample0003",
          payment_id: "pay_Sample0003",
          amount: 99_000,
          currency: "INR",
          reason_code: "goods_or_services_not_received",
          respond_by: 1_796_083_200,
          status: "open",
        },
      },
    }),
  },
  setup: [
    "In Razorpay's dashboard open Account & Settings, Webhooks, and add a webhook.",
    "Paste {url} as its URL and the {secret}, which you choose, as its secret; without one nothing is signed.",
    "Tick the active events, such as payment.failed and payment.dispute.created.",
  ],
});

function message({ payload, event = "" }: PresetEvent): string {
  const kind = KINDS.find((kind) => event.startsWith(`${kind}.`));
  const ids = [labeled("Account", lineAt(payload, "account_id"))];
  if (kind === undefined) {
    return genericMessage({ title: "Razorpay", event, object: valueAt(payload, "payload"), lines: ids });
  }
  const name = kind === "payment.dispute" ? "dispute" : kind;
  const object = valueAt(payload, `payload.${name}.entity`);
  const payment = valueAt(payload, "payload.payment.entity");
  const said = headline(
    capitalized(words(name)),
    phrase("of", amountOf(object, payment)),
    phrase("from", payerOf(object, payment)),
    happened(event.slice(kind.length + 1)),
  );
  return messageOf(
    titled(said, lineAt(object, "error_description") || words(textAt(object, "reason_code"))),
    labeled("Description", lineAt(object, "description", "reference_id")),
    labeled("Method", words(textAt(object, "method"))),
    labeled("Status", words(textAt(object, "status"))),
    labeled("Payments so far", textAt(object, "paid_count")),
    labeled("Respond by", timeText(valueAt(object, "respond_by"))),
    labeled("Order", lineAt(object, "order_id")),
    labeled("Payment", lineAt(object, "payment_id") || (object === payment ? "" : lineAt(payment, "id"))),
    labeled("Id", lineAt(object, "id")),
    labeled("Link", lineAt(object, "short_url")),
    ids,
  );
}

/** A subscription has no amount of its own; the payment beside it has. */
function amountOf(object: unknown, payment: unknown): string {
  const own = minorAmount(valueAt(object, "amount"), valueAt(object, "currency"));
  return own === "" ? minorAmount(valueAt(payment, "amount"), valueAt(payment, "currency")) : own;
}

function payerOf(object: unknown, payment: unknown): string {
  const name = lineAt(object, "customer_details.name", "customer.name");
  const address = lineAt(object, "email", "customer_details.email", "customer.email", "contact");
  return personText(name, address === "" ? lineAt(payment, "email", "contact") : address);
}

/** An event around its entities, as Razorpay sends it. */
function sample(event: string, payload: Readonly<Record<string, unknown>>): PresetSample {
  return {
    headers: { "x-razorpay-event-id": `Sample${event.length}Event` },
    payload: {
      entity: "event",
      account_id: "acc_Sample",
      event,
      contains: Object.keys(payload),
      payload,
      created_at: 1_795_175_999,
    },
  };
}
