import { joinText, labeled, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { contentId } from "../event-fields.ts";
import type { PresetContext, PresetEvent } from "../preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { bodyAt, headline, idLine, lineAt, titled, words } from "../message/headline.ts";
import { timeText } from "../message/value-text.ts";

const account = { account_id: "9035f53656c247e895c5a6939ae8a0e0", policy_id: "749b911ea5d04344a58e45edd099b328" };

/** Notifications of Cloudflare: attacks, health checks, certificates, Workers. They carry the secret as it is. */
export const cloudflare = definePreset({
  name: "cloudflare",
  title: "Cloudflare notifications",
  documentation: "https://developers.cloudflare.com/notifications/reference/webhook-payload-schema/",
  auth: { scheme: "secret", from: "header:cf-webhook-auth" },
  secret: { label: "Secret", madeBy: "owner" },
  event: eventOf,
  eventWhere: "body:alert_type, with start or end of body:alert_event",
  deliveryId: {
    from: idOf,
    where: "body:policy_id + body:alert_correlation_id + body:alert_event + body:ts, or the content",
    signed: false,
  },
  skip: ({ payload }) => (isTest(payload) ? "a test, by which Cloudflare tries the webhook" : undefined),
  ignored: "tests of the webhook. Cloudflare names no person",
  mapping: { name: "Cloudflare" },
  message,
  samples: {
    health_check_status_notification: {
      payload: {
        ...account,
        alert_correlation_id: "000eaa907ed24e78946d3a93adb2ae57",
        alert_event: "ALERT_STATE_EVENT_START",
        alert_type: "health_check_status_notification",
        data: {
          account_name: "Acme",
          failing_regions: "WEU, ENAM",
          health_check_id: "4a1e6b7c8d9e0f1a2b3c4d5e6f7a8b9c",
          health_check_name: "www",
          new_health_status: "Unhealthy",
          old_status: "Healthy",
          origin_ip: "203.0.113.7",
          reason: "TCP connection failed",
          status_change_time: "2026-11-20T11:59:50Z",
          zone_name: "acme.example.com",
        },
        name: "Origin down",
        policy_name: "Origin down",
        text: "Health check www of acme.example.com is unhealthy.",
        ts: 1_795_175_990,
      },
    },
    access_custom_certificate_expiration_type: {
      payload: {
        ...account,
        alert_type: "access_custom_certificate_expiration_type",
        data: {
          certificate_id: "2458ce5a0c35c7f6c7a8b9d0e1f2a3b4",
          days_til_expiration: 14,
          hostnames: "login.acme.example.com",
          zone_name: "acme.example.com",
        },
        name: "Certificates",
        policy_name: "Certificates",
        text: "A certificate of login.acme.example.com expires in 14 days.",
        ts: 1_795_175_991,
      },
    },
    test: {
      payload: {
        text: "Hello World! This is a test message sent from https://cloudflare.com. If you can see this, your webhook is configured properly.",
      },
    },
  },
  setup: [
    "Make up the {secret}, for example with openssl rand -hex 32, and set it as hooks.cloudflare.secret.",
    "In Cloudflare open Notifications, Destinations, and create a webhook with {url} and the {secret}; Cloudflare tests it at once.",
    "Add a notification for each alert that the agent needs, with this webhook as its destination.",
  ],
});

function isTest(payload: unknown): boolean {
  return (
    valueAt(payload, "alert_type") === undefined &&
    valueAt(payload, "data") === undefined &&
    lineAt(payload, "text").startsWith("Hello World! This is a test message sent from https://cloudflare.com")
  );
}

function stateOf(payload: unknown): string {
  return lineAt(payload, "alert_event")
    .replace(/^ALERT_STATE_EVENT_/, "")
    .toLowerCase();
}

function eventOf({ payload }: PresetContext): string | undefined {
  return joinText(".", lineAt(payload, "alert_type"), stateOf(payload)) || undefined;
}

/**
 * A policy can send several alerts in a second: without a correlation only their content tells them apart. Without a
 * time the same alert of another day would have the same content.
 */
function idOf({ payload }: PresetContext): string | undefined {
  if (lineAt(payload, "alert_type") === "" || lineAt(payload, "ts") === "") return undefined;
  const parts = ["policy_id", "alert_correlation_id", "alert_event", "ts"].map((key) => lineAt(payload, key));
  return parts.includes("") ? contentId(payload) : parts.join(".");
}

function message({ payload }: PresetEvent): string {
  const kind = words(lineAt(payload, "alert_type").replace(/_type$/, "")) || "notification";
  return messageOf(
    titled(
      headline("Cloudflare", kind, stateOf(payload) && `(${stateOf(payload)})`),
      lineAt(payload, "policy_name", "name"),
    ),
    bodyAt(payload, "text"),
    dataLines(valueAt(payload, "data"), 30),
    labeled("At", timeText(valueAt(payload, "ts"))),
    idLine(payload, { account: "account_id", policy: "policy_id", alert: "alert_correlation_id" }),
  );
}
