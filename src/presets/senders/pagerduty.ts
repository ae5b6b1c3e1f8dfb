import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent, PresetSample } from "../preset.ts";
import { asJson } from "../message/data-lines.ts";
import { bodyAt, capitalized, headline, lineAt, namesAt, phrase, spoken, titled } from "../message/headline.ts";

const incident = {
  id: "PGR0VU2",
  type: "incident",
  html_url: "https://acme.pagerduty.example.com/incidents/PGR0VU2",
  number: 2,
  status: "triggered",
  title: "Disk of db-1 is nearly full",
  urgency: "high",
  service: { id: "PF9KMXH", summary: "Database", type: "service_reference" },
  assignees: [{ id: "PTUXL6G", summary: "Ada Lund", type: "user_reference" }],
  priority: { id: "PSO75BM", summary: "P1", type: "priority_reference" },
};
const agent = {
  id: "PTUXL6G",
  summary: "Ada Lund",
  type: "user_reference",
  html_url: "https://acme.pagerduty.example.com/users/PTUXL6G",
};

const samples: Readonly<Record<string, PresetSample>> = {
  triggered: {
    payload: {
      event: {
        id: "01BBYA9R0000000000000000A1",
        event_type: "incident.triggered",
        resource_type: "incident",
        occurred_at: "2026-11-20T12:00:00.000Z",
        agent: null,
        client: { name: "Monitoring" },
        data: incident,
      },
    },
  },
  acknowledged: {
    payload: {
      event: {
        id: "01BBYA9R0000000000000000A2",
        event_type: "incident.acknowledged",
        resource_type: "incident",
        occurred_at: "2026-11-20T12:01:00.000Z",
        agent,
        client: null,
        data: { ...incident, status: "acknowledged" },
      },
    },
  },
  annotated: {
    payload: {
      event: {
        id: "01BBYA9R0000000000000000A3",
        event_type: "incident.annotated",
        resource_type: "incident",
        occurred_at: "2026-11-20T12:02:00.000Z",
        agent,
        client: null,
        data: {
          type: "incident_note",
          id: "P7OLQJN",
          content: "Old backups fill the disk.",
          incident: { id: incident.id, summary: incident.title, html_url: incident.html_url },
        },
      },
    },
  },
  ping: {
    payload: {
      event: {
        id: "01BBYA9R0000000000000000A4",
        event_type: "pagey.ping",
        resource_type: "pagey",
        occurred_at: "2026-11-20T12:03:00.000Z",
        agent: null,
        client: null,
        data: { message: "Hello from Pagey", type: "ping" },
      },
    },
  },
};

/** Webhooks v3 of PagerDuty. While a secret is changed a request carries several signatures. */
export const pagerduty = definePreset({
  name: "pagerduty",
  title: "PagerDuty",
  documentation: "https://developer.pagerduty.com/docs/webhooks-overview",
  auth: { from: "header:x-pagerduty-signature", prefix: "v1=", separator: "," },
  secret: { label: "Secret", madeBy: "sender", minLength: 16 },
  event: "body:event.event_type",
  deliveryId: { from: "body:event.id", signed: true },
  sender: senderOf,
  vouchesForActors: true,
  skip: ({ event }) => (event === "pagey.ping" ? "a ping, by which PagerDuty tries the webhook" : undefined),
  message: (event) => messageOf(...linesOf(event)),
  mapping: { name: "PagerDuty", links: ["*.pagerduty.com"] },
  success: {
    statuses: "2xx, within 5 seconds",
    otherwise: "tries again for a time, then disables the webhook for a while",
  },
  ignored: "pings. PagerDuty's services count as no bots, since their incidents are news",
  samples,
  setup: [
    "Open Integrations, Generic Webhooks (v3), and choose New Webhook.",
    "Webhook URL: {url}",
    "Choose the scope (service, team or account) and the events, and choose Add Webhook.",
    "Copy the {secret}, which PagerDuty shows this once, and set it as hooks.pagerduty.secret.",
  ],
});

/** Monitoring opens incidents as a service. That is news, so no actor is a bot. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const name = lineAt(payload, "event.agent.summary", "event.client.name");
  const id = lineAt(payload, "event.agent.id");
  return eventActor(name, id);
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ["incident.triggered", "was triggered"],
  ["incident.acknowledged", "was acknowledged"],
  ["incident.unacknowledged", "is no longer acknowledged"],
  ["incident.escalated", "was escalated"],
  ["incident.delegated", "was delegated"],
  ["incident.reassigned", "was reassigned"],
  ["incident.reopened", "was reopened"],
  ["incident.resolved", "was resolved"],
  ["incident.priority_updated", "got another priority"],
]);

function linesOf(event: PresetEvent): readonly (string | readonly string[])[] {
  const { payload } = event;
  const verb = VERBS.get(event.event ?? "");
  const by = phrase("by", lineAt(payload, "event.agent.summary", "event.client.name"));
  if (verb === undefined) return anyEvent(event, by);
  const number = lineAt(payload, "event.data.number");
  return [
    titled(
      headline(
        "Incident",
        number && `#${number}`,
        phrase("of", lineAt(payload, "event.data.service.summary")),
        verb,
        by,
      ),
      lineAt(payload, "event.data.title"),
    ),
    labeled("Urgency", lineAt(payload, "event.data.urgency")),
    labeled("Priority", lineAt(payload, "event.data.priority.summary")),
    labeled("Assigned to", namesAt(payload, "event.data.assignees", "summary")),
    labeled("Teams", namesAt(payload, "event.data.teams", "summary")),
    labeled("Reason", lineAt(payload, "event.data.resolve_reason.type")),
    textAt(payload, "event.data.html_url"),
  ];
}

/** Notes, status updates, responders, services: `Incident annotated by Ada Lund: Disk of db-1 is nearly full`. */
function anyEvent({ event, payload }: PresetEvent, by: string): readonly (string | readonly string[])[] {
  const title = lineAt(
    payload,
    "event.data.incident.summary",
    "event.data.title",
    "event.data.summary",
    "event.data.name",
  );
  const text = bodyAt(payload, "event.data.content", "event.data.message");
  return [
    titled(capitalized(headline(spoken(event ?? "") || "PagerDuty event", by)), title),
    labeled("Responder", lineAt(payload, "event.data.user.summary", "event.data.escalation_policy.summary")),
    text,
    textAt(payload, "event.data.html_url", "event.data.incident.html_url"),
    title === "" && text === "" ? asJson(valueAt(payload, "event.data") ?? payload) : "",
  ];
}
