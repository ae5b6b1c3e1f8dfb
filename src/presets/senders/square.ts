import { definePreset } from "../define-preset.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent, PresetSample } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { headline, lineAt, phrase, titled } from "../message/headline.ts";
import { minorAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

/** The place and the name of an event's object. */
const SUBJECTS: Readonly<Record<string, readonly [path: string, what: string]>> = {
  booking: ["data.object.booking", "Booking"],
  customer: ["data.object.customer", "Customer"],
  dispute: ["data.object.dispute", "Dispute"],
  invoice: ["data.object.invoice", "Invoice"],
  order: ["data.object", "Order"],
  payment: ["data.object.payment", "Payment"],
  payout: ["data.object.payout", "Payout"],
  refund: ["data.object.refund", "Refund"],
  subscription: ["data.object.subscription", "Subscription"],
};

const AMOUNTS = ["amount_money", "payment_requests[0].computed_amount_money", "total_money"];
const STATES = [
  "status",
  "state",
  "order_created.state",
  "order_updated.state",
  "order_fulfillment_updated.state",
] as const;

/** Payments, refunds, invoices, orders and disputes of Square. */
export const square = definePreset({
  name: "square",
  title: "Square",
  documentation: "https://developer.squareup.com/docs/webhooks/overview",
  auth: {
    scheme: "signature",
    from: "header:x-square-hmacsha256-signature",
    encoding: "base64",
    content: "{url}{body}",
  },
  secret: { label: "Signature key", madeBy: "sender", minLength: 16, known: ["asdf1234", "YOUR_SIGNATURE_KEY"] },
  event: "body:type",
  deliveryId: { from: "body:event_id", signed: true },
  message,
  mapping: { name: "Square" },
  success: { statuses: "2xx, within 10 seconds", otherwise: "tries again for 24 hours" },
  ignored: "nothing. Square marks no bots",
  samples: {
    "payment.updated": sample("payment.updated", "payment", "PAYMENT0001SAMPLE", {
      payment: {
        id: "PAYMENT0001SAMPLE",
        amount_money: { amount: 4900, currency: "EUR" },
        buyer_email_address: "ada@example.com",
        card_details: { card: { card_brand: "VISA", last_4: "1111" }, status: "CAPTURED" },
        note: "Two tickets",
        order_id: "ORDER0001SAMPLE",
        receipt_url: "https://squareup.com/receipt/preview/PAYMENT0001SAMPLE",
        status: "COMPLETED",
      },
    }),
    "refund.created": sample("refund.created", "refund", "REFUND0002SAMPLE", {
      refund: {
        id: "REFUND0002SAMPLE",
        amount_money: { amount: 1250, currency: "USD" },
        payment_id: "PAYMENT0001SAMPLE",
        reason: "Wrong size",
        status: "PENDING",
      },
    }),
    "order.updated": sample("order.updated", "order_updated", "ORDER0003SAMPLE", {
      order_updated: { order_id: "ORDER0003SAMPLE", location_id: "LOCATION1", state: "OPEN", version: 3 },
    }),
    "invoice.payment_made": sample("invoice.payment_made", "invoice", "inv:0-SAMPLE0004", {
      invoice: {
        id: "inv:0-SAMPLE0004",
        invoice_number: "000042",
        payment_requests: [{ computed_amount_money: { amount: 12_000, currency: "JPY" } }],
        primary_recipient: { email_address: "grace@example.com", family_name: "Murray", given_name: "Grace" },
        public_url: "https://squareup.com/pay-invoice/inv:0-SAMPLE0004",
        status: "PAID",
      },
    }),
  },
  setup: [
    "Set hooks.publicUrl: Square signs the URL that it calls.",
    "In Square's developer console open the application, Webhooks, Subscriptions, and add a subscription.",
    "Paste {url} as the notification URL, exactly so, and tick the events, such as payment.updated and dispute.created.",
    "Show the {secret} of the subscription and put it in the configuration.",
  ],
});

function message({ payload, event }: PresetEvent): string {
  const [kind = "", ...action] = (event ?? "").split(".");
  const ids = [
    labeled("Merchant", lineAt(payload, "merchant_id")),
    labeled("Id", lineAt(payload, "data.id")),
    labeled("Event", lineAt(payload, "event_id")),
  ];
  if (!Object.hasOwn(SUBJECTS, kind)) {
    return genericMessage({ title: "Square", event, object: valueAt(payload, "data.object"), lines: ids });
  }
  const [path, what] = SUBJECTS[kind]!;
  const object = valueAt(payload, path);
  const said = headline(
    what,
    lineAt(object, "invoice_number"),
    phrase("of", amountOf(object)),
    kind === "customer" ? payerOf(object) : phrase("from", payerOf(object)),
    happened(action.join(" ")),
  );
  return messageOf(
    titled(said, kind === "dispute" ? words(textAt(object, "reason")) : lineAt(object, "reason", "cancel_reason")),
    labeled("Status", words(textAt(object, ...STATES))),
    labeled(
      "Card",
      headline(lineAt(object, "card_details.card.card_brand"), lineAt(object, "card_details.card.last_4")),
    ),
    labeled("Declined", words(textAt(object, "card_details.errors[0].code"))),
    labeled("Note", textAt(object, "note", "description", "customer_note")),
    labeled("Answer by", lineAt(object, "due_at")),
    labeled("Payment", lineAt(object, "payment_id", "disputed_payment.payment_id")),
    labeled("Order", lineAt(object, "order_id")),
    ids,
    labeled("Link", lineAt(object, "receipt_url", "public_url")),
  );
}

function amountOf(object: unknown): string {
  for (const path of AMOUNTS) {
    const amount = minorAmount(valueAt(object, `${path}.amount`), valueAt(object, `${path}.currency`));
    if (amount !== "") return amount;
  }
  return "";
}

function payerOf(object: unknown): string {
  const given = lineAt(object, "primary_recipient.given_name", "given_name");
  const family = lineAt(object, "primary_recipient.family_name", "family_name");
  const address = lineAt(object, "buyer_email_address", "primary_recipient.email_address", "email_address");
  return personText(headline(given, family), address);
}

/** An event around an object, as Square sends it. */
function sample(type: string, kind: string, id: string, object: Readonly<Record<string, unknown>>): PresetSample {
  return {
    payload: {
      merchant_id: "MERCHANTSAMPLE",
      type,
      event_id: `6a8f5f28-54a1-4eb0-a98a-${type.length.toString().padStart(12, "0")}`,
      created_at: "2026-11-20T11:59:59.000Z",
      data: { type: kind, id, object },
    },
  };
}
