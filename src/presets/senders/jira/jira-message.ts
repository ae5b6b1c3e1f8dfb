import { clip, itemLines, labeled, listAt, messageOf, textAt } from "../../../core/payload-text.ts";
import { asJson } from "../../message/data-lines.ts";
import { bodyAt, capitalized, headline, lineAt, namesAt, phrase, spoken, titled } from "../../message/headline.ts";
import { jiraActor } from "./jira-actor.ts";

const MAX_CHANGE = 100;

/**
 * The text of a Jira event for a person: who did what to which issue, what changed, a link.
 * Shapes: https://developer.atlassian.com/cloud/jira/platform/webhooks/
 */
export function jiraMessage(event: string | undefined, payload: unknown): string {
  const name = (event ?? "").replace(/^jira:/, "");
  const who = lineAt(jiraActor(payload), "displayName", "name");
  const key = lineAt(payload, "issue.key");
  if (key === "") return otherEvent(name, who, payload);
  const isComment = name.startsWith("comment_");
  const opening = headline(
    who || "Someone",
    doing(name),
    lineAt(payload, "issue.fields.issuetype.name"),
    key,
    phrase("in", lineAt(payload, "issue.fields.project.name", "issue.fields.project.key")),
  );
  return messageOf(
    titled(opening, lineAt(payload, "issue.fields.summary")),
    itemLines(listAt(payload, "changelog.items"), change),
    isComment || name === "issue_updated" ? "" : fieldsOf(payload),
    bodyAt(payload, "comment.body", "worklog.comment"),
    labeled("Time spent", lineAt(payload, "worklog.timeSpent")),
    name === "issue_created" ? bodyAt(payload, "issue.fields.description") : "",
    issuePage(payload, key),
  );
}

const DOING: ReadonlyMap<string, string> = new Map([
  ["issue_created", "created"],
  ["issue_updated", "updated"],
  ["issue_deleted", "deleted"],
  ["comment_created", "commented on"],
  ["comment_updated", "edited a comment on"],
  ["comment_deleted", "deleted a comment on"],
  ["worklog_created", "logged work on"],
  ["attachment_created", "attached a file to"],
]);

function doing(name: string): string {
  return DOING.get(name) ?? headline("caused", spoken(name) || "an event", "of");
}

function change(item: unknown): string {
  const field = lineAt(item, "field");
  if (field === "") return "";
  const [from, to] = ["fromString", "toString"].map((key) => clip(lineAt(item, key), MAX_CHANGE));
  return labeled(capitalized(field), from ? `${from} -> ${to || "nothing"}` : (to ?? ""));
}

function fieldsOf(payload: unknown): readonly string[] {
  return [
    labeled("Status", lineAt(payload, "issue.fields.status.name")),
    labeled("Priority", lineAt(payload, "issue.fields.priority.name")),
    labeled("Assignee", lineAt(payload, "issue.fields.assignee.displayName")),
    labeled("Labels", namesAt(payload, "issue.fields.labels")),
  ];
}

/** Projects, versions, sprints, boards, users. */
function otherEvent(name: string, who: string, payload: unknown): string {
  const title = lineAt(
    payload,
    "version.name",
    "sprint.name",
    "project.name",
    "board.name",
    "user.displayName",
    "attachment.filename",
  );
  const opening = headline("Jira:", spoken(name) || "an event", title === who ? "" : phrase("by", who));
  return messageOf(
    titled(opening, title),
    labeled("Goal", bodyAt(payload, "sprint.goal")),
    bodyAt(payload, "version.description"),
    title === "" ? asJson(payload) : "",
  );
}

/** The page of an issue: on the site that its API address names. */
function issuePage(payload: unknown, key: string): string {
  const self = textAt(payload, "issue.self");
  if (!URL.canParse(self) || !/^[A-Z][A-Z0-9_]*-\d+$/.test(key)) return "";
  const { origin, protocol } = new URL(self);
  return protocol === "https:" ? `${origin}/browse/${key}` : "";
}
