import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { joinText, labeled, messageOf, textAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { asJson } from "../message/data-lines.ts";
import { bodyAt, capitalized, headline, lineAt, phrase, spoken, titled } from "../message/headline.ts";

/** The text that Datadog sends for a variable of the payload's template without a value. */
const NO_VALUE = /^(?:null|none|n\/a|\$[A-Z_0-9[\]"'.]+)$/i;

/** The template of the payload to paste; the default one has less. */
const TEMPLATE = JSON.stringify({
  id: "$ID",
  event_type: "$EVENT_TYPE",
  transition: "$ALERT_TRANSITION",
  title: "$EVENT_TITLE",
  body: "$TEXT_ONLY_MSG",
  status: "$ALERT_STATUS",
  priority: "$ALERT_PRIORITY",
  scope: "$ALERT_SCOPE",
  tags: "$TAGS",
  host: "$HOSTNAME",
  user: "$USER",
  link: "$LINK",
});

/**
 * Notifications of Datadog's Webhooks integration. They are not signed: the integration's custom headers
 * carry a secret. Reads the default payload and the one of the setup steps.
 */
export const datadog = definePreset({
  name: "datadog",
  title: "Datadog",
  documentation: "https://docs.datadoghq.com/integrations/webhooks/",
  auth: { scheme: "secret", from: "header:authorization", prefix: "Bearer " },
  secret: { label: "Authorization secret", madeBy: "owner" },
  event: ({ payload }) =>
    joinText(".", filledLine(payload, "event_type"), filledLine(payload, "transition")) || undefined,
  eventWhere: "body:event_type + body:transition",
  // Else two events whose variable has no value would be the same one.
  deliveryId: { from: ({ payload }) => filledLine(payload, "id") || undefined, where: "body:id", signed: false },
  sender: senderOf,
  message: (event) => messageOf(...linesOf(event)),
  mapping: { name: "Datadog", accept: ["json", "form"] },
  success: { statuses: "2xx", otherwise: "5xx: tries up to 5 times" },
  ignored: "nothing. Datadog marks no bots",
  samples: {
    triggered: {
      payload: {
        id: "7301450000000000001",
        event_type: "metric_alert_monitor",
        transition: "Triggered",
        title: "[Triggered on {host:web-1}] CPU is high",
        body: "CPU of web-1 is above 90 %.\n\n@webhook-gateway",
        status: "avg(last_5m):avg:system.cpu.user{host:web-1} > 90",
        priority: "P2",
        scope: "host:web-1",
        tags: "env:production,team:web",
        host: "web-1",
        user: "",
        link: "https://app.datadog.example.com/event/event?id=7301450000000000001",
      },
    },
    recovered: {
      payload: {
        id: "7301450000000000002",
        event_type: "metric_alert_monitor",
        transition: "Recovered",
        title: "[Recovered on {host:web-1}] CPU is high",
        body: "CPU of web-1 is below 90 %.",
        scope: "host:web-1",
        link: "https://app.datadog.example.com/event/event?id=7301450000000000002",
      },
    },
    default: {
      payload: {
        body: "%%%\nCPU of web-1 is above 90 %.\n%%%",
        last_updated: "1795176000000",
        event_type: "metric_alert_monitor",
        title: "[Triggered] CPU is high",
        date: "1795176000000",
        org: { id: "1000", name: "Acme" },
        id: "7301450000000000003",
      },
    },
  },
  setup: [
    "Open Integrations, Webhooks, and choose New. URL: {url}",
    `Payload: ${TEMPLATE}`,
    "Choose the {secret}, for example with openssl rand -hex 32, and set it as hooks.datadog.secret.",
    'Tick Custom Headers: {"Authorization": "Bearer <the same secret>"}',
    "Write @webhook-<name> into the message of each monitor that is to call the gateway.",
  ],
});

/** No one, except where a person's comment is forwarded. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const name = filledLine(payload, "user", "username");
  return eventActor(name);
}

function linesOf({ event, payload }: PresetEvent): readonly string[] {
  const title = filledLine(payload, "title", "event_title");
  const kind = spoken(event ?? "") || "event";
  const text = bodyAt(payload, "body", "event_msg", "message")
    .replace(/^%%%\n?|\n?%%%$/g, "")
    .trim();
  return [
    titled(headline("Datadog", title ? "" : kind, phrase("by", filledLine(payload, "user", "username"))), title),
    NO_VALUE.test(text) ? "" : text,
    ...FIELDS.map((key) => labeled(capitalized(key), filledLine(payload, key))),
    urlOf(payload),
    title === "" && text === "" ? asJson(payload) : "",
  ];
}

const FIELDS = ["transition", "priority", "status", "query", "scope", "host", "tags"];

function filledLine(payload: unknown, ...paths: readonly string[]): string {
  return paths.map((path) => lineAt(payload, path)).find((line) => line !== "" && !NO_VALUE.test(line)) ?? "";
}

function urlOf(payload: unknown): string {
  const link = textAt(payload, "link", "url");
  return NO_VALUE.test(link) ? "" : link;
}
