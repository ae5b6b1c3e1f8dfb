import { joinText, labeled, messageOf, textAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { bodyAt, headline, lineAt, titled, words } from "../message/headline.ts";

/** Cloud agents of Cursor that have finished or failed. */
export const cursor = definePreset({
  name: "cursor",
  title: "Cursor cloud agents",
  documentation: "https://cursor.com/docs/cloud-agent/api/webhooks",
  auth: { scheme: "signature", from: "header:x-webhook-signature", prefix: "sha256=" },
  secret: { label: "webhook.secret", madeBy: "owner", minLength: 32 },
  event: ["body:event", "body:status"],
  deliveryId: { from: "header:x-webhook-id", signed: false },
  ignored: "nothing",
  mapping: { name: "Cursor" },
  message: ({ payload }) =>
    messageOf(
      titled(headline("Cursor: the agent", stateOf(textAt(payload, "status"))), lineAt(payload, "name")),
      bodyAt(payload, "summary"),
      labeled("Repository", joinText(" ", lineAt(payload, "source.repository"), lineAt(payload, "source.ref"))),
      labeled("Branch", lineAt(payload, "target.branchName")),
      labeled("Pull request", lineAt(payload, "target.prUrl")),
      labeled("Agent", joinText(" ", lineAt(payload, "id"), lineAt(payload, "target.url"))),
    ),
  samples: {
    "statusChange.FINISHED": {
      headers: { "x-webhook-id": "msg_01J9XK3V7M2N", "x-webhook-event": "statusChange" },
      payload: {
        event: "statusChange",
        timestamp: "2026-11-20T11:59:58Z",
        id: "bc_abc123",
        status: "FINISHED",
        name: "Add README documentation",
        source: { repository: "https://github.com/acme/app", ref: "main" },
        target: {
          url: "https://cursor.com/agents?id=bc_abc123",
          branchName: "cursor/add-readme-1234",
          prUrl: "https://github.com/acme/app/pull/1234",
        },
        summary: "Added README.md with installation instructions",
      },
    },
    "statusChange.ERROR": {
      headers: { "x-webhook-id": "msg_01J9XK3V7M2P", "x-webhook-event": "statusChange" },
      payload: {
        event: "statusChange",
        timestamp: "2026-11-20T11:59:59Z",
        id: "bc_def456",
        status: "ERROR",
        source: { repository: "https://github.com/acme/app", ref: "main" },
        target: { url: "https://cursor.com/agents?id=bc_def456", branchName: "cursor/fix-login-5678" },
      },
    },
  },
  setup: [
    "Make up the {secret}, for example with openssl rand -hex 32, and set it as hooks.cursor.secret.",
    'Start agents with it: POST https://api.cursor.com/v0/agents with "webhook":{"url":"{url}","secret":"<the same>"}.',
  ],
});

function stateOf(status: string): string {
  if (status === "FINISHED") return "has finished";
  if (status === "ERROR") return "failed";
  return status === "" ? "has another state" : `is ${words(status)}`;
}
