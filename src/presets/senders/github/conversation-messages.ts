import { clip, joinText, labeled, textAt, valueAt } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { bodyAt, headline, lineAt, spoken } from "../../message/headline.ts";
import { didTo, linkAt } from "./github-view.ts";
import type { GithubView } from "./github-view.ts";
import { itemPhrase } from "./item-phrase.ts";

const MAX_HUNK = 1_000;

/** Actions after which the text of an item is news. */
const SHOWS_BODY = new Set([
  "opened",
  "edited",
  "reopened",
  "ready_for_review",
  "created",
  "review_requested",
  "assigned",
]);

/** Events of conversations: pull requests, reviews, issues, discussions and their comments. */
export const CONVERSATION_MESSAGES: Readonly<Record<string, (view: GithubView) => MessageLines>> = {
  pull_request: pullRequest,
  pull_request_target: pullRequest,
  pull_request_review: review,
  pull_request_review_comment: reviewComment,
  pull_request_review_thread: reviewThread,
  issues: (view) => item(view, "issue", "issue"),
  issue_comment: issueComment,
  discussion: (view) => item(view, "discussion", "discussion"),
  discussion_comment: (view) => comment(view, numbered(view, "discussion", "discussion"), "discussion"),
  commit_comment: commitComment,
};

function pullRequest(view: GithubView): MessageLines {
  const { payload } = view;
  const [head, base] = [lineAt(payload, "pull_request.head.ref"), lineAt(payload, "pull_request.base.ref")];
  const [opening, ...rest] = item(view, "pull_request", "pull request");
  return [opening ?? "", head && base && `Branch: ${head} into ${base}`, sizeOf(payload), ...rest];
}

/** An issue, a pull request or a discussion, by the key it has in the payload. */
function item(view: GithubView, key: string, kind: string): MessageLines {
  const { payload, action } = view;
  const title = lineAt(payload, `${key}.title`);
  return [
    didTo(view, itemPhrase(action, numbered(view, key, kind), payload), title),
    labeled("Title was", lineAt(payload, "changes.title.from")),
    SHOWS_BODY.has(action) ? bodyAt(payload, `${key}.body`) : "",
    linkAt(payload, key),
  ];
}

function review(view: GithubView): MessageLines {
  const { payload, action } = view;
  const item = numbered(view, "pull_request", "pull request");
  const doing =
    action === "submitted"
      ? `${verdict(textAt(payload, "review.state"))} ${item}`
      : `${spoken(action) || "updated"} a review of ${item}`;
  return [
    didTo(view, doing, lineAt(payload, "pull_request.title")),
    bodyAt(payload, "review.body"),
    linkAt(payload, "review", "pull_request"),
  ];
}

function verdict(state: string): string {
  if (state === "approved") return "approved";
  return state === "changes_requested" ? "requested changes to" : "reviewed";
}

function reviewComment(view: GithubView): MessageLines {
  const { payload } = view;
  const path = lineAt(payload, "comment.path");
  const line =
    lineAt(payload, "comment.line", "comment.original_line") || lastLine(textAt(payload, "comment.diff_hunk"));
  const [opening, ...rest] = comment(view, numbered(view, "pull_request", "pull request"), "pull_request");
  return [
    opening ?? "",
    labeled("File", path && line ? `${path}:${line}` : path),
    clip(bodyAt(payload, "comment.diff_hunk"), MAX_HUNK),
    ...rest,
  ];
}

const HUNK = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/u;

/** The last line of a piece of a diff in the new file, which the comment is about: GitHub did not always name it. */
function lastLine(hunk: string): string {
  const [head = "", ...lines] = hunk.split("\n");
  const first = Number(HUNK.exec(head)?.[1] ?? 0);
  const kept = lines.filter((line) => !line.startsWith("-") && !line.startsWith("\\")).length;
  return first === 0 || kept === 0 ? "" : String(first + kept - 1);
}

function reviewThread(view: GithubView): MessageLines {
  const { payload, action } = view;
  return [
    didTo(
      view,
      `${spoken(action) || "updated"} a review thread of ${numbered(view, "pull_request", "pull request")}`,
      lineAt(payload, "pull_request.title"),
    ),
    labeled("File", lineAt(payload, "thread.comments[0].path")),
    bodyAt(payload, "thread.comments[0].body"),
    linkAt(payload, "thread.comments[0]", "pull_request"),
  ];
}

function issueComment(view: GithubView): MessageLines {
  const isPullRequest = valueAt(view.payload, "issue.pull_request") !== undefined;
  return comment(view, numbered(view, "issue", isPullRequest ? "pull request" : "issue"), "issue");
}

function commitComment(view: GithubView): MessageLines {
  const { payload } = view;
  const [opening, ...rest] = comment(
    view,
    headline("commit", lineAt(payload, "comment.commit_id").slice(0, 7)),
    "commit",
  );
  return [opening ?? "", labeled("File", lineAt(payload, "comment.path")), ...rest];
}

/** A comment on something, by the key that has in the payload. */
function comment(view: GithubView, on: string, key: string): MessageLines {
  const { payload, action } = view;
  const doing = action === "created" || action === "" ? `commented on ${on}` : `${spoken(action)} a comment on ${on}`;
  return [
    didTo(view, doing, lineAt(payload, `${key}.title`)),
    bodyAt(payload, "comment.body"),
    linkAt(payload, "comment", key),
  ];
}

function numbered({ payload }: GithubView, key: string, kind: string): string {
  const number = lineAt(payload, `${key}.number`);
  return headline(kind, number && `#${number}`);
}

function sizeOf(payload: unknown): string {
  const [added, removed, files] = ["additions", "deletions", "changed_files"].map((key) =>
    lineAt(payload, `pull_request.${key}`),
  );
  return added && removed ? `Size: ${joinText(", ", `+${added} -${removed}`, labeled("files", files ?? ""))}` : "";
}
