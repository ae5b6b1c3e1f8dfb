import Type from "typebox";
import type { PresetSettings } from "../../config/preset.ts";
import { text } from "../../config/schema-parts.ts";
import { definePreset } from "../define-preset.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { headline, lineAt, phrase, titled } from "../message/headline.ts";
import { decimalAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

/**
 * PayPal tries for three days, and a retry carries the time of the first transmission, so that a time of
 * some minutes would refuse every retry. What was accepted is remembered for as long.
 */
const TOLERANCE_SECONDS = 345_600;
const CLOCK_SECONDS = 300;

/** The subject of an event, by the first two parts of its name. */
const SUBJECTS: Readonly<Record<string, string>> = {
  "BILLING.PLAN": "Plan",
  "BILLING.SUBSCRIPTION": "Subscription",
  "CHECKOUT.ORDER": "Order",
  "CUSTOMER.DISPUTE": "Dispute",
  "INVOICING.INVOICE": "Invoice",
  "PAYMENT.AUTHORIZATION": "Payment authorization",
  "PAYMENT.CAPTURE": "Payment",
  "PAYMENT.ORDER": "Order",
  "PAYMENT.PAYOUTS-ITEM": "Payout",
  "PAYMENT.PAYOUTSBATCH": "Batch of payouts",
  "PAYMENT.REFUND": "Refund",
  "PAYMENT.SALE": "Payment",
};

const AMOUNTS: readonly (readonly [amount: string, currency: string])[] = [
  ["amount.value", "amount.currency_code"],
  ["amount.total", "amount.currency"],
  ["dispute_amount.value", "dispute_amount.currency_code"],
  ["purchase_units[0].amount.value", "purchase_units[0].amount.currency_code"],
  ["payout_item.amount.value", "payout_item.amount.currency"],
  ["batch_header.amount.value", "batch_header.amount.currency"],
  ["billing_info.last_payment.amount.value", "billing_info.last_payment.amount.currency_code"],
];

/** Payments, subscriptions, disputes and payouts of PayPal. */
export const paypal = definePreset({
  name: "paypal",
  title: "PayPal",
  documentation: "https://developer.paypal.com/api/rest/webhooks/",
  auth: ({ webhookId }: PresetSettings) => ({
    scheme: "signature",
    from: "header:paypal-transmission-sig",
    encoding: "base64",
    algorithm: "rsa-sha256",
    keyEncoding: "pem",
    content: `{header:paypal-transmission-id}|{timestamp}|${idText(webhookId)}|{crc32}`,
    timestamp: {
      from: "header:paypal-transmission-time",
      unit: "iso8601",
      toleranceSeconds: TOLERANCE_SECONDS,
      futureSeconds: CLOCK_SECONDS,
    },
    certificate: { from: "header:paypal-cert-url", hosts: ["api.paypal.com", "api.sandbox.paypal.com"] },
  }),
  settings: Type.Object(
    {
      webhookId: text({
        description: "ID of the webhook, as PayPal's developer dashboard shows it; it is a part of what PayPal signs.",
        title: "the ID of a webhook, such as 9XL90610J3647323C",
        pattern: "^[A-Za-z0-9]{8,50}$",
        maxLength: 50,
      }),
    },
    { additionalProperties: false },
  ),
  event: "body:event_type",
  // The signature covers the body by its CRC-32 only, for which another body is easily found.
  deliveryId: { from: "body:id", signed: false },
  message,
  mapping: { name: "PayPal" },
  success: { statuses: "2xx", otherwise: "tries up to 25 times in 3 days" },
  ignored: "nothing. PayPal marks no bots",
  samples: {
    "PAYMENT.CAPTURE.COMPLETED": sample("PAYMENT.CAPTURE.COMPLETED", "capture", "Payment completed for EUR 49.00 EUR", {
      id: "CAPTURE0001SAMPLE",
      status: "COMPLETED",
      amount: { currency_code: "EUR", value: "49.00" },
      custom_id: "order-1001",
      supplementary_data: { related_ids: { order_id: "ORDER0001SAMPLE" } },
      final_capture: true,
    }),
    "CUSTOMER.DISPUTE.CREATED": sample(
      "CUSTOMER.DISPUTE.CREATED",
      "dispute",
      "A new dispute opened with Case # PP-D-1",
      {
        dispute_id: "PP-D-1001",
        reason: "MERCHANDISE_OR_SERVICE_NOT_RECEIVED",
        status: "OPEN",
        dispute_amount: { currency_code: "USD", value: "129.90" },
        disputed_transactions: [{ seller_transaction_id: "CAPTURE0002SAMPLE", buyer: { name: "Grace Murray" } }],
        messages: [{ posted_by: "BUYER", content: "My parcel never came." }],
        seller_response_due_date: "2026-11-30T12:00:00.000Z",
      },
    ),
    "BILLING.SUBSCRIPTION.PAYMENT.FAILED": sample(
      "BILLING.SUBSCRIPTION.PAYMENT.FAILED",
      "subscription",
      "Payment failed for subscription",
      {
        id: "I-SAMPLE0003",
        status: "ACTIVE",
        plan_id: "P-SAMPLE0003",
        subscriber: { email_address: "ada@example.com", name: { given_name: "Ada", surname: "Byron" } },
        billing_info: {
          failed_payments_count: 1,
          last_payment: { amount: { currency_code: "EUR", value: "12.00" } },
          next_billing_time: "2026-12-01T10:00:00Z",
        },
      },
    ),
  },
  setup: [
    "In PayPal's developer dashboard open Apps & Credentials, choose the app, live or sandbox, and add a webhook.",
    "Paste {url} as its URL and tick the event types, such as Payment capture completed and Customer dispute created.",
    "Put the Webhook ID that the dashboard then shows in the configuration as webhookId; PayPal has no shared secret.",
    "Keep in mind that the webhook simulator signs for no webhook: its events are refused.",
  ],
});

function idText(webhookId: unknown): string {
  return typeof webhookId === "string" ? webhookId : "";
}

function message({ payload, event }: PresetEvent): string {
  const resource = valueAt(payload, "resource");
  const [first = "", second = "", ...rest] = (event ?? "").split(".");
  const subject = `${first}.${second}`;
  const lines = [
    labeled("Transaction", lineAt(resource, "disputed_transactions[0].seller_transaction_id", "sale_id")),
    labeled("Order", lineAt(resource, "supplementary_data.related_ids.order_id")),
    labeled("Subscription", lineAt(resource, "billing_agreement_id")),
    labeled("Id", lineAt(resource, "id", "dispute_id", "payout_item_id", "batch_header.payout_batch_id")),
    labeled("Event", lineAt(payload, "id")),
  ];
  if (!Object.hasOwn(SUBJECTS, subject)) {
    return genericMessage({ title: "PayPal", event, object: resource, lines: [lineAt(payload, "summary"), ...lines] });
  }
  const said = headline(
    SUBJECTS[subject]!,
    phrase("of", amountOf(resource)),
    phrase("from", payerOf(resource)),
    happened(rest.join(" ")),
  );
  return messageOf(
    titled(said, words(textAt(resource, "reason", "status_details.reason", "errors.name"))),
    labeled("Message", textAt(resource, "messages[0].content", "note_to_payer")),
    labeled("Status", words(textAt(resource, "status", "state", "transaction_status"))),
    labeled("Response due by", timeText(valueAt(resource, "seller_response_due_date"))),
    labeled("Failed payments", textAt(resource, "billing_info.failed_payments_count")),
    labeled("Next billing", timeText(valueAt(resource, "billing_info.next_billing_time"))),
    labeled("Reference", lineAt(resource, "custom_id", "invoice_id", "invoice_number", "custom")),
    lines,
  );
}

function amountOf(resource: unknown): string {
  for (const [amount, currency] of AMOUNTS) {
    const text = decimalAmount(valueAt(resource, amount), valueAt(resource, currency));
    if (text !== "") return text;
  }
  return "";
}

function payerOf(resource: unknown): string {
  const given = lineAt(resource, "payer.name.given_name", "subscriber.name.given_name");
  const family = lineAt(resource, "payer.name.surname", "subscriber.name.surname");
  const whole = lineAt(resource, "disputed_transactions[0].buyer.name");
  const address = lineAt(resource, "payer.email_address", "subscriber.email_address", "payer.payer_info.email");
  return personText(whole === "" ? headline(given, family) : whole, address);
}

/** An event around a resource, as PayPal sends it. */
function sample(event: string, kind: string, summary: string, resource: Readonly<Record<string, unknown>>) {
  return {
    headers: {
      "paypal-transmission-id": "b1a9b770-c61c-11f0-9f1c-0123456789ab",
      "paypal-transmission-time": "2026-11-20T12:00:00Z",
      "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-sample",
      "paypal-auth-algo": "SHA256withRSA",
    },
    payload: {
      id: `WH-SAMPLE-${kind.toUpperCase()}`,
      event_version: "1.0",
      create_time: "2026-11-20T11:59:58.000Z",
      resource_type: kind,
      event_type: event,
      summary,
      resource,
    },
  };
}
