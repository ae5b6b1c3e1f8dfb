import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { asJson } from "../../message/data-lines.ts";
import {
  bodyAt,
  capitalized,
  headline,
  idLine,
  lineAt,
  namesAt,
  phrase,
  spoken,
  titled,
} from "../../message/headline.ts";

/** Frames of a stack trace that are shown, from where the error was thrown. */
const MAX_FRAMES = 5;

/**
 * The text of a Sentry event for a person: what went wrong where, the top of the stack, a link.
 * Shapes: https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
 */
export function sentryMessage(event: string | undefined, payload: unknown): string {
  return messageOf(...linesOf(event ?? "", payload));
}

function linesOf(event: string, payload: unknown): MessageLines {
  const [resource = ""] = event.split(".", 1);
  if (resource === "metric_alert") return metricAlert(payload);
  if (resource === "event_alert") return errorEvent(payload, "event", alertName(payload));
  if (resource === "error") return errorEvent(payload, "error", "Error");
  if (resource === "comment") return comment(payload);
  if (resource === "issue" || resource === "activity_alert") return issue(payload, resource);
  return anyEvent(event, payload);
}

/** The actor, unless it was Sentry itself. */
function person(payload: unknown): string {
  return textAt(payload, "actor.id") === "sentry" ? "" : lineAt(payload, "actor.name");
}

function issue(payload: unknown, resource: string): MessageLines {
  const action = spoken(lineAt(payload, "action"));
  return [
    titled(
      headline(
        resource === "issue" ? "Issue" : "Alert: issue",
        lineAt(payload, "data.issue.shortId"),
        resource === "issue" ? phrase("was", action === "ignored" ? "archived" : action) : "",
        phrase("in", lineAt(payload, "data.issue.project.name", "data.issue.project.slug")),
        phrase("by", person(payload)),
      ),
      lineAt(payload, "data.issue.title"),
    ),
    labeled("Where", lineAt(payload, "data.issue.culprit")),
    labeled("Level", lineAt(payload, "data.issue.level")),
    labeled("Assigned to", lineAt(payload, "data.issue.assignedTo.name")),
    labeled("Seen", seen(payload)),
    textAt(payload, "data.issue.web_url", "data.issue.permalink", "data.web_url"),
  ];
}

function seen(payload: unknown): string {
  const times = lineAt(payload, "data.issue.count");
  const users = lineAt(payload, "data.issue.userCount");
  return joinText(
    ", ",
    times && `${times} times`,
    users && `by ${users} users`,
    phrase("first", lineAt(payload, "data.issue.firstSeen")),
  );
}

function alertName(payload: unknown): string {
  const rule = lineAt(payload, "data.triggered_rule", "data.issue_alert.title");
  return headline("Alert", rule && `"${rule}"`);
}

/** An error with its stack, which is in `data` under the key. */
function errorEvent(payload: unknown, key: string, kind: string): MessageLines {
  const at = `data.${key}`;
  return [
    titled(headline(kind, phrase("in", projectOf(payload, at))), lineAt(payload, `${at}.title`, `${at}.message`)),
    labeled("Where", lineAt(payload, `${at}.culprit`, `${at}.transaction`)),
    labeled("Level", lineAt(payload, `${at}.level`)),
    labeled("Request", headline(lineAt(payload, `${at}.request.method`), textAt(payload, `${at}.request.url`))),
    labeled("User", lineAt(payload, `${at}.user.username`, `${at}.user.email`, `${at}.user.id`)),
    labeled("Environment", lineAt(payload, `${at}.environment`)),
    labeled("Release", lineAt(payload, `${at}.release`, `${at}.release.version`)),
    stack(payload, at),
    idLine(payload, { issue: `${at}.issue_id`, event: `${at}.event_id` }),
    textAt(payload, `${at}.web_url`, `${at}.url`),
  ];
}

/** A project is a number here; its name is in the API's address. */
function projectOf(payload: unknown, at: string): string {
  const [, slug = ""] = /\/projects\/[\w-]+\/([\w-]+)\//.exec(textAt(payload, `${at}.url`)) ?? [];
  return lineAt(payload, `${at}.project_name`, `${at}.project_slug`) || slug;
}

function stack(payload: unknown, at: string): readonly string[] {
  const values = listAt(payload, `${at}.exception.values`);
  const frames = listAt(values.at(-1), "stacktrace.frames").toReversed();
  const own = frames.filter((frame) => valueAt(frame, "in_app") === true);
  return itemLines((own.length > 0 ? own : frames).slice(0, MAX_FRAMES), frameLine);
}

function frameLine(frame: unknown): string {
  const file = lineAt(frame, "filename", "module", "abs_path");
  const line = lineAt(frame, "lineno");
  const place = file && line ? `${file}:${line}` : file;
  return titled(
    phrase("  at", headline(lineAt(frame, "function"), place && `(${place})`)),
    lineAt(frame, "context_line"),
  );
}

function metricAlert(payload: unknown): MessageLines {
  const title = lineAt(
    payload,
    "data.description_title",
    "data.metric_alert.title",
    "data.metric_alert.alert_rule.name",
  );
  const action = spoken(lineAt(payload, "action"));
  return [
    titled("Metric alert", title || action),
    bodyAt(payload, "data.description_text").replaceAll("\\n", "\n"),
    labeled("Projects", namesAt(payload, "data.metric_alert.projects")),
    textAt(payload, "data.web_url"),
  ];
}

function comment(payload: unknown): MessageLines {
  const action = spoken(lineAt(payload, "action"));
  const doing = action === "created" || action === "" ? "commented on" : `${action} a comment on`;
  const issueId = lineAt(payload, "data.issue_id");
  return [
    headline(
      person(payload) || "Someone",
      doing,
      headline("issue", issueId),
      phrase("in", lineAt(payload, "data.project_slug")),
    ),
    bodyAt(payload, "data.comment"),
  ];
}

function anyEvent(event: string, payload: unknown): MessageLines {
  const title = lineAt(payload, "data.issue.title", "data.title", "data.name");
  return [
    titled(capitalized(headline(spoken(event) || "Sentry event", phrase("by", person(payload)))), title),
    textAt(payload, "data.issue.web_url", "data.web_url"),
    title === "" ? asJson(valueAt(payload, "data") ?? payload, isSecret) : "",
  ];
}

/** The code of an installation could be changed into a token. */
function isSecret(key: string): boolean {
  return key === "code";
}
