import Type from "typebox";
import type { AuthInput } from "../../config/auth/schema.ts";
import type { PresetSettings } from "../../config/preset.ts";
import { definePreset } from "../define-preset.ts";
import { listAt, messageOf, textAt } from "../../core/payload-text.ts";
import { alertCounts, alertLines, onlyAlerts } from "../message/list-lines.ts";
import { asJson } from "../message/data-lines.ts";
import { bodyAt, lineAt, titled } from "../message/headline.ts";

const MAX_BODY_BYTES = 4_194_304;
const SIGNATURE_HEADER = "X-Grafana-Alerting-Signature";

/**
 * Without a signed time a copy differs from a repetition only in when it arrives: Grafana repeats a
 * notification word for word, but not within a minute.
 */
const REPLAY_SECONDS = 60;

/** The alert that the Test button of a contact point sends. */
const TEST_ALERTS = new Set(["TestAlert"]);

const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const headerName = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 100, pattern: HEADER_NAME, description }));

const alert = {
  status: "firing",
  labels: { alertname: "High latency", grafana_folder: "App", severity: "critical" },
  annotations: { summary: "Half of the requests take longer than 2 s" },
  startsAt: "2026-11-20T11:50:00Z",
  endsAt: "0001-01-01T00:00:00Z",
  generatorURL: "https://grafana.example.com/alerting/grafana/fe1/view",
  fingerprint: "c6eadffa33fcdf37",
  dashboardURL: "https://grafana.example.com/d/abc123",
  panelURL: "https://grafana.example.com/d/abc123?viewPanel=4",
  values: { B: 2.31, C: 1 },
  valueString: "[ var='B' labels={} value=2.31 ]",
};

const notification = {
  receiver: "gateway",
  status: "firing",
  orgId: 1,
  alerts: [alert],
  groupLabels: { alertname: "High latency" },
  commonLabels: { alertname: "High latency", severity: "critical" },
  commonAnnotations: {},
  externalURL: "https://grafana.example.com/",
  version: "1",
  groupKey: '{}:{alertname="High latency"}',
  truncatedAlerts: 0,
  title: "[FIRING:1] High latency App (critical)",
  state: "alerting",
  message: "**Firing**",
};

/** Notifications of Grafana Alerting contact points with HMAC signatures (Grafana 12 and later). */
export const grafana = definePreset({
  name: "grafana",
  title: "Grafana Alerting",
  documentation:
    "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
  auth: authOf,
  secret: { label: "HMAC secret", madeBy: "owner" },
  settings: Type.Object({
    signatureHeader: headerName(`The contact point's HMAC header. Absent: \`${SIGNATURE_HEADER}\`.`),
    timestampHeader: headerName(
      "The contact point's timestamp header, which makes Grafana sign the time too. Absent: the body alone is signed.",
    ),
  }),
  methods: ["PUT"],
  event: "body:status",
  skip: ({ payload }) =>
    onlyAlerts(payload, TEST_ALERTS) && textAt(payload, "alerts[0].labels.instance") === "Grafana"
      ? "a test of the contact point"
      : undefined,
  message({ payload }) {
    const counts = listAt(payload, "alerts").length === 0 ? "" : alertCounts(payload);
    const lines = alertLines(payload);
    const text = lines.length === 0 ? bodyAt(payload, "message", "text") : "";
    const title = lineAt(payload, "title");
    return messageOf(
      titled(counts ? `Grafana: ${counts}` : "Grafana notification", title),
      lines,
      text,
      lines.length === 0 && text === "" ? asJson(payload) : "",
    );
  },
  mapping: { name: "Grafana", maxBodyBytes: MAX_BODY_BYTES },
  success: { statuses: "2xx", otherwise: "counts the notification as failed, and tries again" },
  ignored: "tests of the contact point",
  samples: {
    firing: { payload: notification },
    resolved: {
      payload: {
        ...notification,
        status: "resolved",
        state: "ok",
        title: "[RESOLVED] High latency App (critical)",
        alerts: [{ ...alert, status: "resolved", endsAt: "2026-11-20T12:00:00Z", values: null, valueString: "" }],
      },
    },
    test: {
      payload: {
        ...notification,
        title: "[FIRING:1] TestAlert Grafana",
        alerts: [
          {
            ...alert,
            labels: { alertname: "TestAlert", instance: "Grafana" },
            annotations: { summary: "Notification test" },
          },
        ],
      },
    },
  },
  setup: [
    "Open Alerting, Contact points, choose Add contact point, and the integration Webhook.",
    "URL: {url}",
    "Under Optional Webhook settings, HMAC Signature, {secret}: generate one, for example with openssl rand -hex 32, and set the same as hooks.grafana.secret.",
    "Better: fill in the Timestamp Header there too, and set its name as hooks.grafana.timestampHeader.",
    "Choose Test, which the gateway takes and skips, then save, and use the contact point in a notification policy.",
  ],
});

function authOf(settings: PresetSettings): AuthInput {
  const { signatureHeader, timestampHeader } = settings;
  const from = `header:${typeof signatureHeader === "string" ? signatureHeader : SIGNATURE_HEADER}`;
  if (typeof timestampHeader !== "string") return { from, replaySeconds: REPLAY_SECONDS };
  return { from, content: "{timestamp}:{body}", timestamp: { from: `header:${timestampHeader}` } };
}
