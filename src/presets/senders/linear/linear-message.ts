import { clip, labeled, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
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
  words,
} from "../../message/headline.ts";

const ACTIONS: ReadonlyMap<string, string> = new Map([
  ["create", "created"],
  ["update", "updated"],
  ["remove", "removed"],
  ["restore", "restored"],
  ["set", "set"],
  ["highRisk", "put at high risk"],
  ["breached", "breached"],
]);

/**
 * The text of a Linear event for a person: who did what to which issue, what changed, a link.
 * Shapes: https://linear.app/developers/webhooks
 */
export function linearMessage(event: string | undefined, payload: unknown): string {
  return messageOf(...linesOf(event, payload));
}

function linesOf(event: string | undefined, payload: unknown): MessageLines {
  const type = textAt(payload, "type");
  if (type === "Issue") return issue(payload);
  if (type === "Comment") return comment(payload);
  if (type === "AgentSessionEvent") return agentSession(payload);
  return anyEvent(event, payload);
}

function who(payload: unknown): string {
  return lineAt(payload, "actor.name", "actor.service", "actor.email", "data.user.name") || "Someone";
}

function done(payload: unknown): string {
  const action = lineAt(payload, "action");
  return ACTIONS.get(action) ?? (words(action) || "changed");
}

function issue(payload: unknown): MessageLines {
  const isUpdate = textAt(payload, "action") === "update";
  return [
    titled(
      headline(
        who(payload),
        done(payload),
        "issue",
        lineAt(payload, "data.identifier"),
        phrase("in", lineAt(payload, "data.team.name", "data.team.key")),
      ),
      lineAt(payload, "data.title"),
    ),
    isUpdate ? changes(payload) : FIELDS.map(({ label, now }) => labeled(label, now(payload))),
    isUpdate && valueAt(payload, "updatedFrom.description") === undefined ? "" : bodyAt(payload, "data.description"),
    idLine(payload, { issue: "data.id", team: ["data.teamId", "data.team.id"], user: "actor.id" }),
    textAt(payload, "url", "data.url"),
  ];
}

interface Field {
  readonly label: string;
  /** The key under which `updatedFrom` says that it changed. */
  readonly key: string;
  readonly now: (payload: unknown) => string;
}

const FIELDS: readonly Field[] = [
  { label: "State", key: "stateId", now: (payload) => lineAt(payload, "data.state.name") },
  { label: "Priority", key: "priority", now: (payload) => lineAt(payload, "data.priorityLabel") },
  { label: "Assignee", key: "assigneeId", now: (payload) => lineAt(payload, "data.assignee.name") },
  { label: "Delegate", key: "delegateId", now: (payload) => lineAt(payload, "data.delegate.name") },
  { label: "Labels", key: "labelIds", now: (payload) => namesAt(payload, "data.labels", "name") },
  { label: "Project", key: "projectId", now: (payload) => lineAt(payload, "data.project.name") },
  { label: "Cycle", key: "cycleId", now: (payload) => lineAt(payload, "data.cycle.name", "data.cycle.number") },
  { label: "Due", key: "dueDate", now: (payload) => lineAt(payload, "data.dueDate") },
];

function changes(payload: unknown): readonly string[] {
  return [
    labeled("Title was", lineAt(payload, "updatedFrom.title")),
    ...FIELDS.filter(({ key }) => valueAt(payload, `updatedFrom.${key}`) !== undefined).map(({ label, now }) =>
      labeled(label, now(payload) || "none"),
    ),
  ];
}

function comment(payload: unknown): MessageLines {
  const action = textAt(payload, "action");
  const on = headline(
    lineAt(payload, "data.issue.identifier", "data.issueId") && "issue",
    lineAt(payload, "data.issue.identifier", "data.issueId") || "something",
  );
  const doing = action === "create" ? "commented on" : `${done(payload)} a comment on`;
  return [
    titled(headline(who(payload), doing, on), lineAt(payload, "data.issue.title", "data.projectUpdate.project.name")),
    labeled("In reply to", lineAt(payload, "data.parent.body")),
    bodyAt(payload, "data.body"),
    idLine(payload, {
      issue: ["data.issueId", "data.issue.id"],
      comment: "data.id",
      thread: ["data.parentId", "data.parent.id"],
      user: ["actor.id", "data.userId", "data.user.id"],
    }),
    textAt(payload, "url", "data.url"),
  ];
}

const MAX_CONTEXT = 8_000;

/** The issue, its comments and the workspace's guidance, as Linear writes them for an agent. */
function promptContext(payload: unknown): string {
  const context = valueAt(payload, "promptContext") ?? valueAt(payload, "agentSession.promptContext");
  return typeof context === "string" ? clip(context.trim(), MAX_CONTEXT) : "";
}

/** Someone mentioned or asked the app that the webhook belongs to. */
function agentSession(payload: unknown): MessageLines {
  const on = lineAt(payload, "agentSession.issue.identifier");
  const doing = textAt(payload, "action") === "prompted" ? "replied in a session" : "started a session";
  return [
    titled(
      headline(
        lineAt(payload, "agentActivity.user.name", "agentSession.creator.name") || "Someone",
        doing,
        phrase("on issue", on),
      ),
      lineAt(payload, "agentSession.issue.title"),
    ),
    bodyAt(
      payload,
      "agentActivity.body",
      "agentActivity.content.body",
      "agentSession.comment.body",
      "agentSession.issue.description",
    ),
    labeled("Context", promptContext(payload)),
    idLine(payload, {
      session: ["agentSession.id", "agentSessionId"],
      issue: ["agentSession.issueId", "agentSession.issue.id"],
      comment: ["agentSession.commentId", "agentSession.comment.id"],
      activity: "agentActivity.id",
    }),
    textAt(payload, "agentSession.url", "agentSession.issue.url", "url"),
  ];
}

/** `Linear: project update created by Ada`. */
function anyEvent(event: string | undefined, payload: unknown): MessageLines {
  const kind = spoken(lineAt(payload, "type").replace(/([a-z])([A-Z])/g, "$1 $2")).toLowerCase() || spoken(event ?? "");
  const by = lineAt(payload, "actor.name", "actor.service", "actor.email", "notification.actor.name", "data.user.name");
  const title = lineAt(payload, "data.title", "data.name", "data.emoji", "issueData.title", "notification.issue.title");
  const link = textAt(payload, "url", "data.url", "notification.issue.url");
  return [
    titled(capitalized(headline(kind || "Linear event", done(payload), phrase("by", by))), title),
    labeled("Project", lineAt(payload, "data.project.name")),
    labeled("Health", lineAt(payload, "data.health")),
    bodyAt(payload, "data.body", "data.description", "notification.comment.body"),
    link,
    title === "" && link === "" ? asJson(payload) : "",
  ];
}
