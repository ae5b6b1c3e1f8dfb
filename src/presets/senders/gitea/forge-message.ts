import { labeled, listAt, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { asJson } from "../../message/data-lines.ts";
import { commitLines } from "../../message/list-lines.ts";
import { bodyAt, capitalized, counted, headline, lineAt, phrase, spoken, titled } from "../../message/headline.ts";

const MESSAGES: ReadonlyMap<string, (payload: unknown, action: string) => MessageLines> = new Map([
  ["push", push],
  ["create", (payload) => reference(payload, "created")],
  ["delete", (payload) => reference(payload, "deleted")],
  ["fork", fork],
  ["issues", (payload, action) => item(payload, action, "issue", "issue")],
  ["issue_comment", issueComment],
  ["pull_request", pullRequest],
  ["pull_request_comment", issueComment],
  ["pull_request_approved", (payload) => review(payload, "approved")],
  ["pull_request_rejected", (payload) => review(payload, "requested changes to")],
  ["release", release],
  ["repository", repository],
  ["wiki", wiki],
]);

/**
 * The text of an event of Gitea or Forgejo for a person: who did what where, the text that matters,
 * a link. Shapes: https://docs.gitea.com/usage/webhooks
 */
export function forgeMessage(event: string | undefined, payload: unknown): string {
  const [name = ""] = (event ?? "").split(".", 1);
  const action = lineAt(payload, "action");
  const message = MESSAGES.get(name);
  return messageOf(...(message ? message(payload, action) : anyEvent(event, payload)));
}

function did(payload: unknown, doing: string, title = ""): string {
  return titled(headline(whoOf(payload) || "Someone", doing, phrase("in", homeName(payload))), title);
}

function whoOf(payload: unknown): string {
  return lineAt(payload, "sender.login", "sender.username", "pusher.login", "pusher.username");
}

function homeName(payload: unknown): string {
  return lineAt(payload, "repository.full_name", "organization.username", "organization.name");
}

function push(payload: unknown): MessageLines {
  const ref = textAt(payload, "ref");
  const name = headline(
    ref.startsWith("refs/tags/") ? "tag" : "branch",
    lineAt({ ref: ref.replace(/^refs\/(?:heads|tags)\//, "") }, "ref"),
  );
  const commits = listAt(payload, "commits").toReversed();
  const total = Number(textAt(payload, "total_commits")) || commits.length;
  return [
    did(payload, total > 0 ? `pushed ${counted(total, "commit")} to ${name}` : `pushed ${name}`),
    commitLines(commits),
    textAt(payload, "compare_url", "repository.html_url"),
  ];
}

function reference(payload: unknown, verb: string): MessageLines {
  const name = lineAt(payload, "ref").replace(/^refs\/(?:heads|tags)\//, "");
  return [did(payload, headline(verb, lineAt(payload, "ref_type") || "ref", name)), linkAt(payload, "repository")];
}

function fork(payload: unknown): MessageLines {
  const from = lineAt(payload, "forkee.full_name") || "a repository";
  const to = lineAt(payload, "repository.full_name");
  return [headline(whoOf(payload) || "Someone", "forked", from, phrase("to", to)), linkAt(payload, "repository")];
}

const ACTIONS: ReadonlyMap<string, string> = new Map([
  ["synchronized", "pushed new commits to"],
  ["label_updated", "changed the labels of"],
  ["label_cleared", "removed the labels of"],
  ["milestoned", "added a milestone to"],
  ["demilestoned", "removed the milestone of"],
  ["review_requested", "asked for a review of"],
  ["review_request_removed", "no longer asks for a review of"],
]);

/** An issue or a pull request, by the key it has in the payload. */
function item(payload: unknown, action: string, key: string, kind: string): MessageLines {
  const number = lineAt(payload, `${key}.number`, "number");
  const merged = action === "closed" && valueAt(payload, `${key}.merged`) === true;
  const doing = merged ? "merged" : (ACTIONS.get(action) ?? (spoken(action) || "updated"));
  return [
    did(payload, headline(doing, kind, number && `#${number}`), lineAt(payload, `${key}.title`)),
    labeled("Title was", lineAt(payload, "changes.title.from")),
    action === "opened" || action === "edited" || action === "reopened" ? bodyAt(payload, `${key}.body`) : "",
    linkAt(payload, key, "repository"),
  ];
}

function pullRequest(payload: unknown, action: string): MessageLines {
  const [opening, ...rest] = item(payload, action, "pull_request", "pull request");
  const [head, base] = [lineAt(payload, "pull_request.head.ref"), lineAt(payload, "pull_request.base.ref")];
  return [opening ?? "", head && base ? `Branch: ${head} into ${base}` : "", ...rest];
}

function issueComment(payload: unknown, action: string): MessageLines {
  const isPull = valueAt(payload, "is_pull") === true || valueAt(payload, "pull_request.number") !== undefined;
  const number = lineAt(payload, "issue.number", "pull_request.number");
  const on = headline(isPull ? "pull request" : "issue", number && `#${number}`);
  // A comment that is a review has the action of a review.
  const doing = ["created", "reviewed", ""].includes(action) ? "commented on" : `${spoken(action)} a comment on`;
  return [
    did(payload, headline(doing, on), lineAt(payload, "issue.title", "pull_request.title")),
    bodyAt(payload, "comment.body", "review.content"),
    linkAt(payload, "comment", "issue", "pull_request"),
  ];
}

function review(payload: unknown, verdict: string): MessageLines {
  const number = lineAt(payload, "pull_request.number", "number");
  return [
    did(payload, headline(verdict, "pull request", number && `#${number}`), lineAt(payload, "pull_request.title")),
    bodyAt(payload, "review.content"),
    linkAt(payload, "pull_request"),
  ];
}

function release(payload: unknown, action: string): MessageLines {
  const tag = lineAt(payload, "release.tag_name");
  const name = lineAt(payload, "release.name");
  return [
    did(payload, headline(spoken(action) || "updated", "release", tag), name === tag ? "" : name),
    action === "deleted" ? "" : bodyAt(payload, "release.body"),
    linkAt(payload, "release", "repository"),
  ];
}

function repository(payload: unknown, action: string): MessageLines {
  const name = lineAt(payload, "repository.full_name");
  return [
    headline(whoOf(payload) || "Someone", spoken(action) || "updated", "repository", name),
    bodyAt(payload, "repository.description"),
    linkAt(payload, "repository"),
  ];
}

function wiki(payload: unknown, action: string): MessageLines {
  return [
    did(payload, headline(spoken(action) || "edited", "wiki page"), lineAt(payload, "page")),
    bodyAt(payload, "comment"),
    linkAt(payload, "repository"),
  ];
}

/** `Workflow run completed in acme/app by octo: CI`. */
function anyEvent(event: string | undefined, payload: unknown): MessageLines {
  const title = lineAt(
    payload,
    "workflow_run.display_title",
    "workflow_job.name",
    "package.name",
    "context",
    "run.title",
  );
  const link = linkAt(payload, "workflow_run", "workflow_job", "package", "run", "repository");
  return [
    titled(
      capitalized(
        headline(spoken(event ?? "") || "event", phrase("in", homeName(payload)), phrase("by", whoOf(payload))),
      ),
      title,
    ),
    labeled("Result", spoken(lineAt(payload, "workflow_run.conclusion", "workflow_job.conclusion", "state"))),
    bodyAt(payload, "description"),
    textAt(payload, "target_url") || link,
    title === "" && link === "" ? asJson(payload) : "",
  ];
}

function linkAt(payload: unknown, ...keys: readonly string[]): string {
  return textAt(payload, ...keys.map((key) => `${key}.html_url`));
}
