import { labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import type { PresetEvent, PresetSample } from "../preset.ts";
import { capitalized, headline, idLine, lineAt, namesAt, phrase, words } from "../message/headline.ts";
import { genericMessage } from "../message/unknown-event.ts";
import { decimalAmount, timeText } from "../message/value-text.ts";

const STORIES: Readonly<Record<string, string>> = {
  INITIAL_PURCHASE: "A subscription was bought",
  RENEWAL: "A subscription was renewed",
  CANCELLATION: "A subscription was canceled or refunded",
  UNCANCELLATION: "A canceled subscription continues",
  NON_RENEWING_PURCHASE: "A purchase was made",
  SUBSCRIPTION_PAUSED: "A subscription will be paused",
  SUBSCRIPTION_EXTENDED: "A subscription was extended",
  EXPIRATION: "A subscription expired",
  BILLING_ISSUE: "A subscription could not be charged",
  PRODUCT_CHANGE: "A subscription changes its product",
};

/** Purchases and subscriptions of apps at RevenueCat. */
export const revenuecat = definePreset({
  name: "revenuecat",
  title: "RevenueCat",
  documentation: "https://www.revenuecat.com/docs/integrations/webhooks",
  auth: {
    scheme: "signature",
    from: "header:x-revenuecat-webhook-signature",
    pair: "v1",
    separator: ",",
    content: "{timestamp}.{body}",
    timestamp: { from: "pair:t", toleranceSeconds: 300 },
  },
  secret: { label: "Signing secret", madeBy: "sender", minLength: 16 },
  event: "body:event.type",
  deliveryId: { from: "body:event.id", signed: true },
  skip: ({ event }) => (event === "TEST" ? "a test of RevenueCat's dashboard" : undefined),
  success: { statuses: "200", otherwise: "tries again after 5, 10, 20, 40 and 80 minutes" },
  ignored: "tests of the dashboard. RevenueCat marks no bots",
  mapping: { name: "RevenueCat" },
  message,
  samples: {
    INITIAL_PURCHASE: sample("INITIAL_PURCHASE", "12345678-1234-1234-1234-123456789012", {
      country_code: "US",
      presented_offering_id: null,
    }),
    CANCELLATION: sample("CANCELLATION", "12345678-1234-1234-1234-123456789013", { cancel_reason: "BILLING_ERROR" }),
    BILLING_ISSUE: sample("BILLING_ISSUE", "12345678-1234-1234-1234-123456789014", {
      grace_period_expiration_at_ms: 1_796_040_000_000,
      environment: "SANDBOX",
    }),
    TEST: sample("TEST", "12345678-1234-1234-1234-123456789015", {}),
  },
  setup: [
    "In RevenueCat open the project's Integrations, Webhooks, and add a configuration with {url} as its URL.",
    "Turn on its HMAC signature, and copy the {secret} into hooks.revenuecat.secret.",
    'To check only the authorization header instead, set it in RevenueCat and here: hooks.revenuecat.auth to {"scheme":"secret","from":"header:authorization"}, with the same value as hooks.revenuecat.secret. It proves nothing about the body.',
  ],
});

function sample(type: string, id: string, changes: object): PresetSample {
  return {
    payload: {
      api_version: "1.0",
      event: {
        id,
        type,
        app_id: "app1234567890",
        app_user_id: "user-42",
        original_app_user_id: "$RCAnonymousID:87c6049c58069238dce29853916d624c",
        aliases: ["$RCAnonymousID:8069238d6049ce87cc529853916d624c"],
        event_timestamp_ms: 1_795_175_998_679,
        product_id: "com.acme.pro.monthly",
        period_type: "NORMAL",
        purchased_at_ms: 1_795_175_990_000,
        expiration_at_ms: 1_797_767_990_000,
        environment: "PRODUCTION",
        entitlement_ids: ["pro"],
        transaction_id: "123456789012345",
        original_transaction_id: "123456789012345",
        currency: "EUR",
        price: 5.39,
        price_in_purchased_currency: 4.99,
        subscriber_attributes: { $email: { updated_at_ms: 1_795_000_000_000, value: "ada@example.com" } },
        store: "APP_STORE",
        ...changes,
      },
    },
  };
}

function message({ payload, event = "" }: PresetEvent): string {
  const what = valueAt(payload, "event");
  const ids = [
    idLine(what, {
      customer: "app_user_id",
      transaction: "transaction_id",
      "first transaction": "original_transaction_id",
      app: "app_id",
    }),
    textAt(what, "environment") === "SANDBOX" ? "Sandbox: no money moved." : "",
  ];
  const story = Object.hasOwn(STORIES, event) ? STORIES[event]! : "";
  if (story === "") return genericMessage({ title: "RevenueCat", event, object: what, lines: ids });
  const email = lineAt(valueAt(what, "subscriber_attributes"), "$email.value");
  return messageOf(
    headline("RevenueCat:", story, phrase("by", email || lineAt(what, "app_user_id"))),
    labeled("Product", lineAt(what, "product_id")),
    labeled("New product", lineAt(what, "new_product_id")),
    labeled("Price", decimalAmount(valueAt(what, "price_in_purchased_currency"), valueAt(what, "currency"))),
    labeled("Because", words(lineAt(what, "cancel_reason", "expiration_reason"))),
    labeled("Entitlements", listAt(what, "entitlement_ids").length > 0 ? namesAt(what, "entitlement_ids") : ""),
    labeled("Period", words(lineAt(what, "period_type"))),
    labeled("Bought", timeText(valueAt(what, "purchased_at_ms"))),
    labeled("Until", timeText(valueAt(what, "expiration_at_ms"))),
    labeled("Grace period until", timeText(valueAt(what, "grace_period_expiration_at_ms"))),
    labeled("Store", capitalized(words(lineAt(what, "store")))),
    ids,
  );
}
