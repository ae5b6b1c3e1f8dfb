import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { batchEvent, batchId } from "../event-fields.ts";
import type { PresetEvent, PresetSample } from "../preset.ts";
import { bodyAt, capitalized, headline, idLine, lineAt, namesAt, phrase, words } from "../message/headline.ts";
import { unknownEvent } from "../message/unknown-event.ts";
import { minorAmount, timeText } from "../message/value-text.ts";

const ITEM = "NotificationRequestItem";

/** Currencies that Adyen counts otherwise than ISO 4217: docs.adyen.com/development-resources/currency-codes. */
const ADYEN_DIGITS = { CLP: 2, CVE: 0, IDR: 0, ISK: 2 };

/** The fields that Adyen signs, in its order; it joins an empty text where one is missing. */
const SIGNED = [
  "pspReference",
  "originalReference?",
  "merchantAccountCode",
  "merchantReference?",
  "amount.value",
  "amount.currency",
  "eventCode",
  "success",
];

/** Standard webhooks of Adyen about payments: each item of a call is signed by itself, over eight of its fields. */
export const adyen = definePreset({
  name: "adyen",
  title: "Adyen",
  documentation: "https://docs.adyen.com/development-resources/webhooks/",
  auth: {
    scheme: "signature",
    each: "notificationItems",
    from: `body:${ITEM}.additionalData.hmacSignature`,
    encoding: "base64",
    keyEncoding: "hex",
    content: SIGNED.map((field) => `{body:${ITEM}.${field}}`).join(":"),
  },
  secret: {
    label: "HMAC key",
    madeBy: "sender",
    minLength: 32,
    known: ["44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"],
  },
  event: ({ payload }) => batchEvent(itemsOf(payload).map((item) => lineAt(item, "eventCode"))),
  eventWhere: "eventCode of body:notificationItems",
  deliveryId: {
    from: ({ payload }) => batchId(itemsOf(payload).map(idOf)),
    where: "pspReference, eventCode and success of body:notificationItems",
    signed: true,
  },
  skip: ({ payload }) => (isTest(payload) ? "a test of Adyen's Customer Area" : undefined),
  answer: { status: 200, contentType: "text/plain", body: "[accepted]" },
  success: {
    statuses: "2xx, or 200 with [accepted], within 10 seconds",
    otherwise: "tries again three times, then from a queue for up to 30 days",
  },
  ignored: "tests of the Customer Area. Adyen marks no bots",
  mapping: { name: "Adyen", maxBodyBytes: 1_048_576 },
  message,
  samples: {
    AUTHORISATION: sample({
      eventCode: "AUTHORISATION",
      success: "false",
      pspReference: "8835540567420001",
      originalReference: "",
      reason: "Refused",
      operations: [],
    }),
    REFUND: sample({
      eventCode: "REFUND",
      success: "true",
      pspReference: "8835540567420002",
      originalReference: "8835540567420000",
      reason: "",
    }),
    CHARGEBACK: sample({
      eventCode: "CHARGEBACK",
      success: "true",
      pspReference: "8835540567420003",
      originalReference: "8835540567420000",
      reason: "Merchandise/Services Not Received",
    }),
    test: sample({ eventCode: "AUTHORISATION", success: "true", pspReference: "test_AUTHORISATION_1" }),
  },
  setup: [
    "In Adyen's Customer Area open Developers, Webhooks, and create a standard webhook: {url} as its URL, JSON as its method.",
    "Under Security generate the {secret} (hexadecimal digits), copy it into hooks.adyen.secret, and save the webhook.",
    "Choose the events that the agent needs, such as CHARGEBACK and NOTIFICATION_OF_CHARGEBACK, and test the configuration.",
    "Adyen signs references, amount, event and success only: treat reason and additionalData as unverified.",
  ],
});

function sample(item: Readonly<Record<string, unknown>>): PresetSample {
  return {
    payload: {
      live: "false",
      notificationItems: [
        {
          [ITEM]: {
            additionalData: { cardSummary: "0010", shopperEmail: "ada@example.com" },
            amount: { currency: "EUR", value: 4900 },
            eventDate: "2026-11-20T12:59:58+01:00",
            merchantAccountCode: "AcmeECOM",
            merchantReference: "order-1001",
            paymentMethod: "visa",
            ...item,
          },
        },
      ],
    },
  };
}

function itemsOf(payload: unknown): readonly unknown[] {
  return listAt(payload, "notificationItems").map((each) => valueAt(each, ITEM));
}

function idOf(item: unknown): string {
  const [reference, code] = [lineAt(item, "pspReference"), lineAt(item, "eventCode")];
  return reference === "" || code === "" ? "" : joinText(".", reference, code, lineAt(item, "success"));
}

/** Adyen's own plugins know a test by this beginning of its reference. */
function isTest(payload: unknown): boolean {
  const items = itemsOf(payload);
  const isLive = textAt(payload, "live") === "true";
  return !isLive && items.length > 0 && items.every((item) => lineAt(item, "pspReference").startsWith("test_"));
}

function message({ payload, event }: PresetEvent): string {
  const items = itemsOf(payload).filter((item) => lineAt(item, "eventCode") !== "");
  if (items.length === 0) return unknownEvent("Adyen", event, undefined, payload);
  return messageOf(
    itemLines(items, (item) => linesOf(item).join("\n")),
    textAt(payload, "live") === "true" ? "" : "Test mode: no money moved.",
  );
}

function linesOf(item: unknown): readonly string[] {
  const outcome = textAt(item, "success") === "false" ? "failed" : "succeeded";
  return [
    headline(
      capitalized(words(lineAt(item, "eventCode"))),
      phrase("of", minorAmount(valueAt(item, "amount.value"), valueAt(item, "amount.currency"), ADYEN_DIGITS)),
      outcome,
    ),
    labeled("Reason", bodyAt(item, "reason")),
    labeled("Reference", lineAt(item, "merchantReference")),
    labeled("Method", headline(lineAt(item, "paymentMethod"), lineAt(item, "additionalData.cardSummary"))),
    labeled("Shopper", lineAt(item, "additionalData.shopperEmail", "additionalData.shopperReference")),
    labeled("Possible now", namesAt(item, "operations")),
    labeled("At", timeText(valueAt(item, "eventDate"))),
    idLine(item, { payment: "pspReference", "original payment": "originalReference", account: "merchantAccountCode" }),
  ].filter((line) => line !== "");
}
