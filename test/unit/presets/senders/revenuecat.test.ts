import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { revenuecat } from "../../../../src/presets/senders/revenuecat.ts";
import { NOW, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-secret-of-acme";

describe("the preset revenuecat", () => {
  itReadsSamples(revenuecat, {
    INITIAL_PURCHASE: {
      event: "INITIAL_PURCHASE",
      deliveryId: "12345678-1234-1234-1234-123456789012",
      message: [
        "RevenueCat: A subscription was bought by ada@example.com",
        "Product: com.acme.pro.monthly",
        "Price: 4.99 EUR",
        "Entitlements: pro",
        "Period: normal",
        "Bought: 2026-11-20 11:59 UTC",
        "Until: 2026-12-20 11:59 UTC",
        "Store: App store",
        "Ids: customer user-42, transaction 123456789012345, first transaction 123456789012345, app app1234567890",
      ],
    },
    CANCELLATION: {
      event: "CANCELLATION",
      deliveryId: "12345678-1234-1234-1234-123456789013",
      message: [
        "RevenueCat: A subscription was canceled or refunded by ada@example.com",
        "Product: com.acme.pro.monthly",
        "Price: 4.99 EUR",
        "Because: billing error",
        "Entitlements: pro",
        "Period: normal",
        "Bought: 2026-11-20 11:59 UTC",
        "Until: 2026-12-20 11:59 UTC",
        "Store: App store",
        "Ids: customer user-42, transaction 123456789012345, first transaction 123456789012345, app app1234567890",
      ],
    },
    BILLING_ISSUE: {
      event: "BILLING_ISSUE",
      deliveryId: "12345678-1234-1234-1234-123456789014",
      message: [
        "RevenueCat: A subscription could not be charged by ada@example.com",
        "Product: com.acme.pro.monthly",
        "Price: 4.99 EUR",
        "Entitlements: pro",
        "Period: normal",
        "Bought: 2026-11-20 11:59 UTC",
        "Until: 2026-12-20 11:59 UTC",
        "Grace period until: 2026-11-30 12:00 UTC",
        "Store: App store",
        "Ids: customer user-42, transaction 123456789012345, first transaction 123456789012345, app app1234567890",
        "Sandbox: no money moved.",
      ],
    },
    TEST: {
      event: "TEST",
      deliveryId: "12345678-1234-1234-1234-123456789015",
      skip: "a test of RevenueCat's dashboard",
      message: [
        "RevenueCat event TEST",
        "id: 12345678-1234-1234-1234-123456789015",
        "type: TEST",
        "app_id: app1234567890",
        "app_user_id: user-42",
        "original_app_user_id: $RCAnonymousID:87c6049c58069238dce29853916d624c",
        'aliases: ["$RCAnonymousID:8069238d6049ce87cc529853916d624c"]',
        "event_timestamp_ms: 1795175998679",
        "product_id: com.acme.pro.monthly",
        "period_type: NORMAL",
        "purchased_at_ms: 1795175990000",
        "expiration_at_ms: 1797767990000",
        "environment: PRODUCTION",
        "... and 8 more",
        "Ids: customer user-42, transaction 123456789012345, first transaction 123456789012345, app app1234567890",
      ],
    },
  });

  it("lists the main fields of an event that it has no words for", () => {
    const event = { type: "TRANSFER", id: "1", transferred_from: ["a"], transferred_to: ["b"] };
    expect(readSample(revenuecat, { payload: { event } }).message).toBe(
      'RevenueCat event TRANSFER\ntype: TRANSFER\nid: 1\ntransferred_from: ["a"]\ntransferred_to: ["b"]',
    );
  });

  it("takes any of several signatures over time and body for five minutes", async () => {
    const seconds = String(NOW / 1_000);
    const sign = (body: Uint8Array) => createHmac("sha256", SECRET).update(`${seconds}.`).update(body).digest("hex");
    const verify = async (write: (signature: string) => string, changes: object = {}) => {
      const call = sampleCall(revenuecat, "INITIAL_PURCHASE", (body) => ({
        "x-revenuecat-webhook-signature": write(sign(body)),
      }));
      return (await verifyCall(revenuecat, { ...call, ...changes }, { secrets: [SECRET] })).ok;
    };
    const right = (signature: string) => `t=${seconds},v1=${signature}`;
    expect(await verify(right)).toBe(true);
    expect(await verify((signature) => `t=${seconds},v1=${"0".repeat(64)},v1=${signature}`)).toBe(true);
    expect(await verify(right, { receivedAt: NOW + 300_000 })).toBe(true);
    expect(await verify(right, { receivedAt: NOW + 301_000 })).toBe(false);
    expect(await verify(right, { body: Buffer.from("{}") })).toBe(false);
    expect(await verify((signature) => `t=${Number(seconds) + 1},v1=${signature}`)).toBe(false);
    expect(await verify((signature) => `v1=${signature}`)).toBe(false);
  });
});
