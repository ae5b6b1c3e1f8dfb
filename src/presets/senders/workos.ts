import { definePreset } from "../define-preset.ts";
import { joinText, labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, spoken, titled } from "../message/headline.ts";
import { personText } from "../message/value-text.ts";

function event(name: string, data: object) {
  return {
    payload: { id: `event_01K${name.length}EXAMPLE`, event: name, data, created_at: "2026-11-20T11:59:58.123Z" },
  };
}

/** Events of directories, connections, users and organizations of WorkOS. Times are in milliseconds. */
export const workos = definePreset({
  name: "workos",
  title: "WorkOS",
  documentation: "https://workos.com/docs/events/data-syncing/webhooks",
  auth: {
    scheme: "signature",
    from: "header:workos-signature",
    pair: "v1",
    separator: ",",
    encoding: "hex",
    algorithm: "hmac-sha256",
    timestamp: { from: "pair:t", unit: "milliseconds", toleranceSeconds: 180 },
    content: "{timestamp}.{body}",
  },
  secret: { label: "Signing secret", madeBy: "sender", minLength: 16 },
  event: "body:event",
  deliveryId: { from: "body:id", signed: true },
  mapping: { name: "WorkOS" },
  message({ payload }) {
    const data = valueAt(payload, "data");
    return messageOf(
      titled(`WorkOS: ${spoken(lineAt(payload, "event")) || "new event"}`, subjectOf(data)),
      labeled("Reason", joinText(", ", textAt(data, "error.code"), textAt(data, "error.message"))),
      detailsOf(data),
      labeled("Event id", textAt(payload, "id")),
    );
  },
  success: { statuses: "200 only", otherwise: "tries again with growing delays for 3 days" },
  ignored: "nothing. WorkOS marks no bots",
  samples: {
    "dsync.user.created": event("dsync.user.created", {
      object: "directory_user",
      id: "directory_user_01EXAMPLE",
      directory_id: "directory_01EXAMPLE",
      organization_id: "org_01EXAMPLE",
      idp_id: "8931",
      email: "ada@example.com",
      first_name: "Ada",
      last_name: "Lovelace",
      state: "active",
    }),
    "dsync.group.user_added": event("dsync.group.user_added", {
      directory_id: "directory_01EXAMPLE",
      user: { id: "directory_user_01EXAMPLE", email: "ada@example.com", first_name: "Ada", last_name: "Lovelace" },
      group: { id: "directory_group_01EXAMPLE", name: "Engineers", organization_id: "org_01EXAMPLE" },
    }),
    "connection.activated": event("connection.activated", {
      object: "connection",
      id: "conn_01EXAMPLE",
      organization_id: "org_01EXAMPLE",
      connection_type: "OktaSAML",
      name: "Example Works",
      state: "active",
    }),
    "authentication.password_failed": event("authentication.password_failed", {
      type: "password",
      status: "failed",
      user_id: "user_01EXAMPLE",
      email: "ada@example.com",
      ip_address: "192.0.2.7",
      error: { code: "invalid_credentials", message: "Invalid credentials" },
    }),
  },
  setup: [
    "Open the WorkOS Dashboard: Developer > Webhooks > Create Webhook, paste {url} and choose the events.",
    "Open the webhook, copy its {secret} and set it as hooks.workos.secret.",
    "WorkOS, like its library, takes a signed time of up to 3 minutes ago for valid, so a retry has to be signed again. If retries are refused as too old, set hooks.workos.auth.timestamp.toleranceSeconds to 259200 (3 days); copies are still recognized.",
  ],
});

/** Whom or what the event is about: a person, and the group they joined or left; or a name. */
function subjectOf(data: unknown): string {
  const person = personIn(data, "user.") || personIn(data, "");
  return joinText(", ", person, lineAt(data, "group.name", "name", "domain"));
}

function personIn(data: unknown, prefix: string): string {
  const name = headline(lineAt(data, `${prefix}first_name`), lineAt(data, `${prefix}last_name`));
  return personText(name, lineAt(data, `${prefix}email`, `${prefix}emails[0].value`));
}

const DETAILS: readonly (readonly [string, ...string[]])[] = [
  ["State", "state", "status"],
  ["Kind", "connection_type", "type"],
  ["Address", "ip_address"],
  ["User", "user.id", "user_id"],
  ["Group", "group.id"],
  ["Directory", "directory_id"],
  ["Organization", "organization_id", "group.organization_id"],
  ["Id", "id"],
];

function detailsOf(data: unknown): readonly string[] {
  const lines = DETAILS.map(([label, ...paths]) => labeled(label, lineAt(data, ...paths)));
  return lines.some((line) => line !== "") ? lines : dataLines(data);
}
