import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, spoken } from "../message/headline.ts";

/** Triggers of Composio, in its payloads V3; signed like Standard Webhooks, with the secret as it is written for the key. */
export const composio = definePreset({
  name: "composio",
  title: "Composio triggers",
  documentation: "https://docs.composio.dev/docs/webhook-verification",
  auth: {
    scheme: "signature",
    from: "header:webhook-signature",
    separator: " ",
    prefix: "v1,",
    encoding: "base64",
    id: "header:webhook-id",
    timestamp: { from: "header:webhook-timestamp", toleranceSeconds: 300 },
    content: "{id}.{timestamp}.{body}",
  },
  secret: { label: "webhook secret", madeBy: "sender", minLength: 16 },
  event: ({ payload }) => eventOf(payload),
  eventWhere: "metadata.trigger_slug of triggers, or body:type",
  deliveryId: { from: "header:webhook-id", signed: true },
  success: { statuses: "2xx", otherwise: "tries again" },
  ignored: "nothing. Composio marks no bots",
  mapping: { name: "Composio", maxBodyBytes: 1_048_576 },
  message: ({ payload, event }) =>
    messageOf(
      headline("Composio:", spoken(event?.replace("composio.", "") ?? "").toLowerCase() || "new event"),
      dataLines(valueAt(payload, "data")),
      labeled("User", lineAt(payload, "metadata.user_id")),
      labeled("Connected account", lineAt(payload, "metadata.connected_account_id")),
      labeled("Trigger", lineAt(payload, "metadata.trigger_id")),
      labeled("At", textAt(payload, "timestamp")),
    ),
  samples: {
    GITHUB_COMMIT_EVENT: {
      payload: {
        id: "msg_7f2c9a10",
        timestamp: "2026-11-20T11:59:58.000Z",
        type: "composio.trigger.message",
        metadata: {
          log_id: "log_abc123",
          trigger_slug: "GITHUB_COMMIT_EVENT",
          trigger_id: "ti_xyz789",
          connected_account_id: "ca_def456",
          auth_config_id: "ac_ghi012",
          user_id: "user-id-123435",
        },
        data: { commit_sha: "a1b2c3d", message: "fix: close the login form", author: "ada" },
      },
    },
    "composio.connected_account.expired": {
      payload: {
        id: "msg_7f2c9a11",
        timestamp: "2026-11-20T11:59:59.000Z",
        type: "composio.connected_account.expired",
        metadata: { project_id: "pr_1", org_id: "ok_1" },
        data: { id: "ca_def456", toolkit: { slug: "github" }, status: "EXPIRED", user_id: "user-id-123435" },
      },
    },
  },
  setup: [
    'Subscribe: POST https://backend.composio.dev/api/v3/webhook_subscriptions with {"webhook_url":"{url}","enabled_events":["composio.trigger.message","composio.connected_account.expired"]}',
    "Copy the {secret} from the answer, which has it once, into hooks.composio.secret.",
  ],
});

function eventOf(payload: unknown): string | undefined {
  const type = lineAt(payload, "type");
  const slug = type === "composio.trigger.message" ? lineAt(payload, "metadata.trigger_slug") : "";
  return slug || type || undefined;
}
