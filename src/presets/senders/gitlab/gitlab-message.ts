import { itemLines, labeled, listAt, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { asJson } from "../../message/data-lines.ts";
import { commitLines, shortSha } from "../../message/list-lines.ts";
import {
  bodyAt,
  capitalized,
  counted,
  headline,
  lineAt,
  namesAt,
  phrase,
  spoken,
  titled,
} from "../../message/headline.ts";
import { gitlabActor } from "./gitlab-event.ts";

const MESSAGES: ReadonlyMap<string, (payload: unknown) => MessageLines> = new Map([
  ["push", push],
  ["tag_push", push],
  ["merge_request", mergeRequest],
  ["issue", (payload) => item(payload, numbered("issue", "#", payload))],
  ["work_item", (payload) => item(payload, numbered("work item", "#", payload))],
  ["note", note],
  ["pipeline", pipeline],
  ["build", job],
  ["deployment", deployment],
  ["release", release],
  ["wiki_page", (payload) => item(payload, "wiki page")],
  ["feature_flag", featureFlag],
]);

/**
 * The text of a GitLab event for a person: who did what where, the text that matters, a link.
 * Shapes: https://docs.gitlab.com/user/project/integrations/webhook_events/
 */
export function gitlabMessage(payload: unknown): string {
  return messageOf(...(MESSAGES.get(textAt(payload, "object_kind")) ?? anyEvent)(payload));
}

const ACTIONS: ReadonlyMap<string, string> = new Map([
  ["open", "opened"],
  ["close", "closed"],
  ["reopen", "reopened"],
  ["update", "updated"],
  ["merge", "merged"],
  ["create", "created"],
  ["delete", "deleted"],
  ["approval", "approved"],
  ["unapproval", "withdrew an approval of"],
  ["unapproved", "withdrew the approval of"],
]);

function doneTo(payload: unknown): string {
  const action = lineAt(payload, "object_attributes.action", "action");
  return ACTIONS.get(action) ?? (spoken(action) || "changed");
}

function who(payload: unknown): string {
  return gitlabActor(payload) || "Someone";
}

function where(payload: unknown): string {
  return phrase("in", lineAt(payload, "project.path_with_namespace", "project_name", "group.full_path", "group_path"));
}

function push(payload: unknown): MessageLines {
  const ref = textAt(payload, "ref");
  const isTag = ref.startsWith("refs/tags/");
  const name = headline(isTag ? "tag" : "branch", lineAt({ ref: ref.replace(/^refs\/(?:heads|tags)\//, "") }, "ref"));
  const commits = listAt(payload, "commits");
  const total = Number(textAt(payload, "total_commits_count")) || commits.length;
  return [
    headline(who(payload), pushed(payload, name, total), where(payload)),
    commitLines(commits),
    total > commits.length ? `(${counted(total, "commit")} in all)` : "",
    bodyAt(payload, "message"),
    textAt(payload, "project.web_url"),
  ];
}

const NO_COMMIT = /^0{40,64}$/;

function pushed(payload: unknown, name: string, total: number): string {
  if (NO_COMMIT.test(textAt(payload, "after"))) return `deleted ${name}`;
  if (NO_COMMIT.test(textAt(payload, "before"))) return `created ${name}`;
  return total > 0 ? `pushed ${counted(total, "commit")} to ${name}` : `pushed ${name}`;
}

function numbered(kind: string, mark: string, payload: unknown): string {
  const number = lineAt(payload, "object_attributes.iid");
  return headline(kind, number && `${mark}${number}`);
}

/** An issue, a wiki page and the like, as `object_attributes` hold it. */
function item(payload: unknown, name: string): MessageLines {
  const action = lineAt(payload, "object_attributes.action");
  return [
    titled(headline(who(payload), doneTo(payload), name, where(payload)), lineAt(payload, "object_attributes.title")),
    changesOf(payload),
    action === "open" || action === "create" || valueAt(payload, "changes.description") !== undefined
      ? bodyAt(payload, "object_attributes.description", "object_attributes.message")
      : "",
    textAt(payload, "object_attributes.url"),
  ];
}

function mergeRequest(payload: unknown): MessageLines {
  const [opening, ...rest] = item(payload, numbered("merge request", "!", payload));
  const source = lineAt(payload, "object_attributes.source_branch");
  const target = lineAt(payload, "object_attributes.target_branch");
  return [
    opening ?? "",
    source && target && `Branch: ${source} into ${target}`,
    lineAt(payload, "object_attributes.oldrev") && commitLine(payload, "object_attributes.last_commit"),
    ...rest,
  ];
}

/** Labels, people and titles that were changed: `Labels: bug, login`. */
function changesOf(payload: unknown): readonly string[] {
  const before = lineAt(payload, "changes.title.previous");
  return [
    labeled("Title was", before),
    labeled("Labels", namesAt(payload, "changes.labels.current", "title")),
    labeled("Assignees", namesAt(payload, "changes.assignees.current", "username")),
    labeled("Reviewers", namesAt(payload, "changes.reviewers.current", "username")),
  ];
}

function note(payload: unknown): MessageLines {
  const kind = spoken(
    lineAt(payload, "object_attributes.noteable_type").replace(/([a-z])([A-Z])/g, "$1 $2"),
  ).toLowerCase();
  const key = ["merge_request", "issue", "snippet", "commit"].find((name) => valueAt(payload, name) !== undefined);
  const number = key === undefined || key === "commit" ? "" : lineAt(payload, `${key}.iid`, `${key}.id`);
  const sha = shortSha(lineAt(payload, "commit.id"));
  const name = headline(
    kind || "something",
    number ? `${key === "merge_request" ? "!" : "#"}${number}` : key === "commit" ? sha : "",
  );
  const doing = lineAt(payload, "object_attributes.action") === "update" ? "edited a comment on" : "commented on";
  return [
    titled(headline(who(payload), doing, name, where(payload)), key ? lineAt(payload, `${key}.title`) : ""),
    bodyAt(payload, "object_attributes.note", "object_attributes.description"),
    textAt(payload, "object_attributes.url"),
  ];
}

const STATES: ReadonlyMap<string, string> = new Map([
  ["success", "succeeded"],
  ["failed", "failed"],
  ["canceled", "was canceled"],
  ["skipped", "was skipped"],
  ["created", "was created"],
  ["manual", "waits for someone to start it"],
]);

function went(state: string): string {
  return STATES.get(state) ?? phrase("is", spoken(state));
}

function pipeline(payload: unknown): MessageLines {
  const id = lineAt(payload, "object_attributes.id");
  const failed = listAt(payload, "builds").filter(
    (build) => valueAt(build, "status") === "failed" && valueAt(build, "allow_failure") !== true,
  );
  return [
    titled(
      headline(
        "Pipeline",
        id && `#${id}`,
        went(lineAt(payload, "object_attributes.status")),
        phrase("on", lineAt(payload, "object_attributes.ref")),
        where(payload),
      ),
      lineAt(payload, "object_attributes.name", "merge_request.title"),
    ),
    labeled("Started by", gitlabActor(payload)),
    commitLine(payload, "commit"),
    itemLines(failed, failedJob),
    textAt(payload, "object_attributes.url") || pageOf(payload, "pipelines", id),
  ];
}

function failedJob(build: unknown): string {
  const reason = spoken(lineAt(build, "failure_reason"));
  return labeled(
    "Failed job",
    headline(lineAt(build, "name"), phrase("of stage", lineAt(build, "stage")), reason && `(${reason})`),
  );
}

function job(payload: unknown): MessageLines {
  const id = lineAt(payload, "build_id");
  return [
    headline(
      "Job",
      lineAt(payload, "build_name"),
      phrase("of stage", lineAt(payload, "build_stage")),
      went(lineAt(payload, "build_status")),
      phrase("on", lineAt(payload, "ref")),
      where(payload),
    ),
    labeled("Reason", reasonOf(payload)),
    labeled("Started by", gitlabActor(payload)),
    commitLine(payload, "commit"),
    pageOf(payload, "jobs", id),
  ];
}

function reasonOf(payload: unknown): string {
  const reason = spoken(lineAt(payload, "build_failure_reason"));
  return reason === "unknown failure" ? "" : reason;
}

function pageOf(payload: unknown, kind: string, id: string): string {
  const home = textAt(payload, "project.web_url", "repository.homepage");
  return home && id ? `${home}/-/${kind}/${id}` : home;
}

function commitLine(payload: unknown, key: string): string {
  const [subject = ""] = textAt(payload, `${key}.title`, `${key}.message`).split("\n", 1);
  return labeled("Commit", headline(shortSha(textAt(payload, `${key}.id`, `${key}.sha`)), subject.trim()));
}

function deployment(payload: unknown): MessageLines {
  return [
    headline(
      "Deployment",
      phrase("of", lineAt(payload, "ref")),
      phrase("to", lineAt(payload, "environment")),
      went(lineAt(payload, "status")),
      where(payload),
    ),
    labeled("Started by", gitlabActor(payload)),
    labeled("Commit", headline(lineAt(payload, "short_sha"), lineAt(payload, "commit_title"))),
    labeled("Site", textAt(payload, "environment_external_url")),
    textAt(payload, "deployable_url", "commit_url", "project.web_url"),
  ];
}

function release(payload: unknown): MessageLines {
  const tag = lineAt(payload, "tag");
  const name = lineAt(payload, "name");
  return [
    titled(headline("Release", tag, "was", doneTo(payload), where(payload)), name === tag ? "" : name),
    bodyAt(payload, "description"),
    textAt(payload, "url"),
  ];
}

function featureFlag(payload: unknown): MessageLines {
  const active = valueAt(payload, "object_attributes.active");
  const doing = typeof active === "boolean" ? `turned ${active ? "on" : "off"}` : "changed";
  return [
    headline(who(payload), doing, "feature flag", lineAt(payload, "object_attributes.name"), where(payload)),
    bodyAt(payload, "object_attributes.description"),
    textAt(payload, "project.web_url"),
  ];
}

/** `User add to group in acme: ada`. */
function anyEvent(payload: unknown): MessageLines {
  const kind = spoken(lineAt(payload, "event_name", "object_kind")) || "GitLab event";
  const action = spoken(lineAt(payload, "object_attributes.action", "action", "event_type"));
  const title = lineAt(payload, "object_attributes.title", "object_attributes.name", "user_username", "name");
  const link = textAt(
    payload,
    "object_attributes.url",
    "object_attributes.awarded_on_url",
    "project.web_url",
    "group.web_url",
  );
  return [
    titled(capitalized(headline(kind, action, where(payload), phrase("by", gitlabActor(payload)))), title),
    labeled("Role", lineAt(payload, "group_access", "project_access", "access_level")),
    labeled("Severity", lineAt(payload, "object_attributes.severity")),
    bodyAt(payload, "object_attributes.description"),
    link,
    title === "" ? asJson(payload) : "",
  ];
}
