import { itemLines, joinText, labeled, listAt, memberOf, textAt, valueAt } from "../../core/payload-text.ts";
import { bodyAt, counted, headline, lineAt, oneLine, phrase, titled } from "./headline.ts";

const SHA_LENGTH = 7;

/**
 * Commits of a push, a line each: `- 1a2b3c4 Fix login (Ada)`. Reads the shapes of GitHub, GitLab,
 * Bitbucket and Gitea; of a message only the first line.
 */
export function commitLines(commits: readonly unknown[]): readonly string[] {
  return itemLines(commits, commitLine);
}

/** The first characters of a commit's id, enough for a person to recognize it. */
export function shortSha(sha: string): string {
  return sha.slice(0, SHA_LENGTH).trimEnd();
}

function commitLine(commit: unknown): string {
  const [subject = ""] = textAt(commit, "message", "title").split("\n", 1);
  const author = oneLine(textAt(commit, "author.user.display_name", "author.name", "author.username", "author.raw"));
  const line = headline(shortSha(textAt(commit, "id", "hash", "sha")), oneLine(subject), author && `(${author})`);
  return line === "" ? "" : `- ${line}`;
}

const MAX_ALERTS = 10;
const MAX_LABELS = 8;

/** `2 alerts firing, 1 resolved`, of an `alerts` list as Alertmanager and Grafana send it. */
export function alertCounts(payload: unknown): string {
  const alerts = listAt(payload, "alerts");
  const resolved = alerts.filter((alert) => textAt(alert, "status") === "resolved").length;
  const firing = alerts.length - resolved;
  if (firing > 0)
    return joinText(", ", `${counted(firing, "alert")} firing`, resolved > 0 ? `${resolved} resolved` : "");
  return resolved > 0 ? `${counted(resolved, "alert")} resolved` : phrase("alerts", lineAt(payload, "status"));
}

/** The alerts of a notification, some lines each: name, labels, summary, values, links. */
export function alertLines(payload: unknown): readonly string[] {
  const cut = Number(textAt(payload, "truncatedAlerts")) || 0;
  return [
    ...itemLines(listAt(payload, "alerts"), (alert) => linesOf(alert).join("\n"), MAX_ALERTS),
    ...(cut > 0 ? [`(${counted(cut, "alert")} left out by the sender)`] : []),
  ];
}

/** True when there are alerts and all of them have one of these names. */
export function onlyAlerts(payload: unknown, names: ReadonlySet<string>): boolean {
  const alerts = listAt(payload, "alerts");
  return alerts.length > 0 && alerts.every((alert) => names.has(textAt(alert, "labels.alertname")));
}

function linesOf(alert: unknown): readonly string[] {
  const status = textAt(alert, "status") === "resolved" ? "Resolved:" : "Firing:";
  const name = lineAt(alert, "labels.alertname") || "alert";
  const [summary, description] = [
    lineAt(alert, "annotations.summary"),
    bodyAt(alert, "annotations.description", "annotations.message"),
  ];
  const ended = status === "Resolved:" ? timeAt(alert, "endsAt") : "";
  return [
    titled(headline("-", status, name, labelsOf(alert)), summary),
    description === summary ? "" : description,
    labeled("Value", lineAt(alert, "valueString") || valuesOf(alert)),
    labeled("Since", joinText(", until ", timeAt(alert, "startsAt"), ended)),
    labeled("Runbook", textAt(alert, "annotations.runbook_url", "annotations.runbookURL")),
    textAt(alert, "panelURL", "dashboardURL", "generatorURL"),
  ].filter((line) => line !== "");
}

function labelsOf(alert: unknown): string {
  const labels = entriesAt(alert, "labels").filter((line) => !line.startsWith("alertname="));
  return labels.length === 0 ? "" : `(${labels.slice(0, MAX_LABELS).join(", ")})`;
}

function valuesOf(alert: unknown): string {
  return entriesAt(alert, "values").join(", ");
}

function entriesAt(alert: unknown, path: string): readonly string[] {
  const object = valueAt(alert, path);
  if (typeof object !== "object" || object === null || Array.isArray(object)) return [];
  return Object.keys(object)
    .slice(0, MAX_LABELS + 1)
    .map((key) => joinText("=", oneLine(key), lineAt(memberOf(object, key), "")))
    .filter((line) => line !== "");
}

/** Go writes a time that is not set as the year 1. */
function timeAt(alert: unknown, path: string): string {
  const time = lineAt(alert, path);
  return time.startsWith("0001-") ? "" : time;
}
