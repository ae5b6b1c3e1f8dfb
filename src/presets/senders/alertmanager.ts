import { definePreset } from "../define-preset.ts";
import { labeled, listAt, messageOf, textAt } from "../../core/payload-text.ts";
import { alertCounts, alertLines, onlyAlerts } from "../message/list-lines.ts";
import { asJson } from "../message/data-lines.ts";
import { capitalized, lineAt, titled } from "../message/headline.ts";

const MAX_BODY_BYTES = 4_194_304;

/** Alerts that always fire, to show that alerting works or to hold others back. */
const HEARTBEATS = new Set(["Watchdog", "DeadMansSwitch", "InfoInhibitor"]);

const alert = {
  status: "firing",
  labels: { alertname: "HighCpu", instance: "web-1:9100", severity: "critical", job: "node" },
  annotations: {
    summary: "CPU of web-1 is above 90 %",
    description: "It has been for ten minutes.",
    runbook_url: "https://runbooks.example.com/high-cpu",
  },
  startsAt: "2026-11-20T11:50:00Z",
  endsAt: "0001-01-01T00:00:00Z",
  generatorURL: "https://prometheus.example.com/graph?g0.expr=cpu",
  fingerprint: "1c93eec3511dc156",
};

const notification = {
  version: "4",
  groupKey: '{}:{alertname="HighCpu"}',
  truncatedAlerts: 0,
  status: "firing",
  receiver: "gateway",
  groupLabels: { alertname: "HighCpu" },
  commonLabels: { alertname: "HighCpu", severity: "critical", job: "node" },
  commonAnnotations: {},
  externalURL: "https://alertmanager.example.com",
  alerts: [alert],
};

/**
 * Notifications of Prometheus Alertmanager. They are not signed; the receiver's `http_config` sends a
 * bearer token. They name no delivery: a notification is repeated on purpose while its alerts fire.
 */
export const alertmanager = definePreset({
  name: "alertmanager",
  title: "Alertmanager",
  documentation: "https://prometheus.io/docs/alerting/latest/configuration/#webhook_config",
  auth: { scheme: "secret", from: "header:authorization", prefix: "Bearer " },
  secret: { label: "Bearer token", madeBy: "owner" },
  event: "body:status",
  skip: ({ payload }) => (onlyAlerts(payload, HEARTBEATS) ? "an alert that always fires" : undefined),
  message: ({ payload }) =>
    messageOf(
      titled(
        capitalized(alertCounts(payload)) || "Alertmanager notification",
        lineAt(payload, "groupLabels.alertname", "commonLabels.alertname"),
      ),
      alertLines(payload),
      labeled("Alertmanager", textAt(payload, "externalURL")),
      listAt(payload, "alerts").length === 0 ? asJson(payload) : "",
    ),
  mapping: { name: "Alertmanager", maxBodyBytes: MAX_BODY_BYTES },
  success: { statuses: "2xx", otherwise: "5xx: tries again until the next notification; 4xx: gives up" },
  ignored: "the alerts Watchdog and its like, which always fire",
  samples: {
    firing: { payload: notification },
    resolved: {
      payload: {
        ...notification,
        status: "resolved",
        alerts: [{ ...alert, status: "resolved", endsAt: "2026-11-20T12:00:00Z" }],
      },
    },
    watchdog: {
      payload: {
        ...notification,
        groupLabels: { alertname: "Watchdog" },
        alerts: [{ ...alert, labels: { alertname: "Watchdog", severity: "none" }, annotations: {} }],
      },
    },
  },
  setup: [
    "Add a receiver to alertmanager.yml whose webhook_configs entry has url: {url}",
    "Choose the {secret}, for example with openssl rand -hex 32, and set it as hooks.alertmanager.secret.",
    "Give that entry http_config: { authorization: { type: Bearer, credentials_file: <a file that holds the same> } }",
    "Route alerts to the receiver, and reload Alertmanager.",
  ],
});
