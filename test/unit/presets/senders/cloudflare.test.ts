import { describe, expect, it } from "vitest";
import { cloudflare } from "../../../../src/presets/senders/cloudflare.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-secret-of-acme";

describe("the preset cloudflare", () => {
  itReadsSamples(cloudflare, {
    health_check_status_notification: {
      event: "health_check_status_notification.start",
      deliveryId:
        "749b911ea5d04344a58e45edd099b328.000eaa907ed24e78946d3a93adb2ae57.ALERT_STATE_EVENT_START.1795175990",
      message: [
        "Cloudflare health check status notification (start): Origin down",
        "Health check www of acme.example.com is unhealthy.",
        "account_name: Acme",
        "failing_regions: WEU, ENAM",
        "health_check_id: 4a1e6b7c8d9e0f1a2b3c4d5e6f7a8b9c",
        "health_check_name: www",
        "new_health_status: Unhealthy",
        "old_status: Healthy",
        "origin_ip: 203.0.113.7",
        "reason: TCP connection failed",
        "status_change_time: 2026-11-20T11:59:50Z",
        "zone_name: acme.example.com",
        "At: 2026-11-20 11:59 UTC",
        "Ids: account 9035f53656c247e895c5a6939ae8a0e0, policy 749b911ea5d04344a58e45edd099b328, alert 000eaa907ed24e78946d3a93adb2ae57",
      ],
    },
    access_custom_certificate_expiration_type: {
      event: "access_custom_certificate_expiration_type",
      deliveryId: expect.stringMatching(/^sha256-[0-9a-f]{64}$/),
      message: [
        "Cloudflare access custom certificate expiration: Certificates",
        "A certificate of login.acme.example.com expires in 14 days.",
        "certificate_id: 2458ce5a0c35c7f6c7a8b9d0e1f2a3b4",
        "days_til_expiration: 14",
        "hostnames: login.acme.example.com",
        "zone_name: acme.example.com",
        "At: 2026-11-20 11:59 UTC",
        "Ids: account 9035f53656c247e895c5a6939ae8a0e0, policy 749b911ea5d04344a58e45edd099b328",
      ],
    },
    test: {
      skip: "a test, by which Cloudflare tries the webhook",
      message: [
        "Cloudflare notification",
        "Hello World! This is a test message sent from https://cloudflare.com. If you can see this, your webhook is configured properly.",
      ],
    },
  });

  it("takes an alert for no test, whatever its text says", () => {
    const { text } = cloudflare.samples["test"]!.payload as { text: string };
    expect(readSample(cloudflare, { payload: { text, alert_type: "workers_alert" } }).skip).toBeUndefined();
    expect(readSample(cloudflare, { payload: { text, data: {} } }).skip).toBeUndefined();
  });

  it("has another id for another certificate of the same policy in the same second", () => {
    const { payload } = cloudflare.samples["access_custom_certificate_expiration_type"]!;
    const idOf = (data: object) => readSample(cloudflare, { payload: { ...(payload as object), data } }).deliveryId;
    expect(idOf({ certificate_id: "a" })).not.toBe(idOf({ certificate_id: "b" }));
    expect(idOf({ certificate_id: "a" })).toBe(idOf({ certificate_id: "a" }));
  });

  it("has no id without a time, by which the same alert of another day would be a copy", () => {
    const { payload } = cloudflare.samples["access_custom_certificate_expiration_type"]!;
    expect(readSample(cloudflare, { payload: { ...(payload as object), ts: undefined } }).deliveryId).toBeUndefined();
  });

  it("takes the secret in its header, and no other", async () => {
    const verify = async (headers: Readonly<Record<string, string>>) => {
      const call = sampleCall(cloudflare, "health_check_status_notification", () => headers);
      return (await verifyCall(cloudflare, call, { secrets: [SECRET] })).ok;
    };
    expect(await verify({ "cf-webhook-auth": SECRET })).toBe(true);
    expect(await verify({ "cf-webhook-auth": `${SECRET}x` })).toBe(false);
    expect(await verify({ authorization: SECRET })).toBe(false);
  });
});
