import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt } from "../message/headline.ts";
import type { PresetContext } from "../preset.ts";
import { whsecSender } from "./standard-webhooks/whsec-sender.ts";

const { auth, secret } = whsecSender("webhook", "Signing secret");

/**
 * Events of an MCP server (SEP-3415), signed like Standard Webhooks with a secret that the subscriber gives the server.
 *
 * `webhook-id` is the id of the event in one dialect and that of the message in the other; `eventId` of the body is the
 * same in both, and in what is polled.
 */
export const mcpEvents = definePreset({
  name: "mcp-events",
  title: "MCP Events",
  documentation: "https://modelcontextprotocol.io/seps/3415-events-extension",
  auth,
  secret: { ...secret, madeBy: "owner" },
  handshakes: [
    {
      name: "verification",
      verified: true,
      when: { "body:type": "verification", "body:challenge": true },
      reply: { status: 200, json: { challenge: "{body:challenge}" } },
    },
  ],
  event: ({ payload }) => (isControl(payload) ? undefined : lineAt(payload, "name") || undefined),
  eventWhere: "body:name",
  deliveryId: { from: deliveryIdOf, where: "body:eventId, or header:webhook-id of a control message", signed: true },
  skip: ({ payload }) => (isControl(payload) ? `it is the control message "${lineAt(payload, "type")}"` : undefined),
  success: { statuses: "2xx", otherwise: "depends on the server; most try again, and none does after 410 or 413" },
  ignored: "control messages",
  mapping: { name: "MCP event", maxBodyBytes: 262_144 },
  message: ({ payload, event }) =>
    messageOf(
      headline("MCP event:", event ?? "without a name"),
      dataLines(valueAt(payload, "data")),
      labeled("At", lineAt(payload, "timestamp")),
      labeled("Id", lineAt(payload, "eventId")),
    ),
  samples: {
    "incident.created": {
      payload: {
        eventId: "evt_789",
        name: "incident.created",
        timestamp: "2026-11-20T11:59:58Z",
        data: { incidentId: "INC-1234", title: "The pool of connections is empty", severity: "P1" },
        cursor: "cursor_41",
      },
    },
    gap: { headers: { "webhook-id": "msg_gap_1" }, payload: { type: "gap", cursor: "cursor_97" } },
    terminated: {
      headers: { "webhook-id": "msg_terminated_1" },
      payload: { type: "terminated", error: { code: -32_012, message: "Forbidden" } },
    },
  },
  setup: [
    'Make a {secret}: (umask 077; echo "whsec_$(openssl rand -base64 32)" > ~/.reveille/mcp-events-secret), and set it as hooks.mcp-events.secret.',
    "Name the server and its event in hooks.subscriptions; the gateway gives the server {url} and the secret by itself.",
  ],
});

/** A body with a type tells something of the subscription; an event has none. */
function isControl(payload: unknown): boolean {
  return valueAt(payload, "type") !== undefined;
}

function deliveryIdOf({ payload, headers }: PresetContext): string | undefined {
  const id = isControl(payload) ? textAt(headers, "webhook-id") : textAt(payload, "eventId");
  return id === "" ? undefined : id;
}
