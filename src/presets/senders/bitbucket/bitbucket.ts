import { definePreset } from "../../define-preset.ts";
import { authorsAt, eventActor } from "../../event-fields.ts";
import { itemLines, labeled, listAt, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../../preset.ts";
import { asJson } from "../../message/data-lines.ts";
import { commitLines } from "../../message/list-lines.ts";
import { bodyAt, capitalized, counted, headline, lineAt, phrase, spoken, titled } from "../../message/headline.ts";
import { bitbucketSamples } from "./bitbucket-samples.ts";

const MAX_BODY_BYTES = 4_194_304;
/** Branches and tags of a push. */
const MAX_CHANGES = 5;

/** Webhooks of Bitbucket Cloud repositories and workspaces. */
export const bitbucket = definePreset({
  name: "bitbucket",
  title: "Bitbucket Cloud",
  text: "markdown",
  documentation: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
  auth: { from: "header:x-hub-signature", prefix: "sha256=" },
  secret: { label: "Secret", madeBy: "owner", known: ["It's a Secret to Everybody"] },
  event: "header:x-event-key",
  deliveryId: { from: "header:x-request-uuid", signed: false },
  sender: senderOf,
  authors: ({ payload }) => AUTHORED.flatMap((at) => authorsAt(payload, [{ id: idAt(payload, at) }])),
  vouchesForActors: true,
  message: (event) => messageOf(...linesOf(event)),
  mapping: { name: "Bitbucket", links: ["bitbucket.org"], maxBodyBytes: MAX_BODY_BYTES },
  success: { statuses: "2xx", otherwise: "5xx or no answer: tries twice more" },
  ignored: "events of app users",
  samples: bitbucketSamples,
  setup: [
    "Open the repository's (or workspace's) settings, then Webhooks, and choose Add webhook.",
    "URL: {url}",
    "{secret}: generate one, for example with openssl rand -hex 32, and set the same as hooks.bitbucket.secret. Without one Bitbucket signs nothing.",
    "Status: Active. Choose the triggers, and save.",
  ],
});

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const name = actorOf(payload);
  const id = lineAt(payload, idAt(payload, "actor"));
  return eventActor(name, id, /^app_?user$/i.test(textAt(payload, "actor.type")));
}

/** Whose texts an event carries. */
const AUTHORED = ["pullrequest.author", "issue.reporter", "comment.user"] as const;

/** The path of the id of an account, which app users have no other of than a UUID. */
function idAt(payload: unknown, account: string): string {
  return lineAt(payload, `${account}.account_id`) === "" ? `${account}.uuid` : `${account}.account_id`;
}

function actorOf(payload: unknown): string {
  return lineAt(payload, "actor.nickname", "actor.username", "actor.display_name");
}

function linesOf(event: PresetEvent): MessageLines {
  const { payload } = event;
  const [subject = "", action = ""] = (event.event ?? "").split(":", 2);
  if (event.event === "repo:push") return push(payload);
  if (subject === "pullrequest") return pullRequest(payload, action);
  if (subject === "issue") return issue(payload, action);
  if (action.startsWith("commit_status_")) return commitStatus(payload);
  if (action === "commit_comment_created") return commitComment(payload);
  return anyEvent(event);
}

function did(payload: unknown, doing: string, title = ""): string {
  const where = phrase("in", lineAt(payload, "repository.full_name", "workspace.slug"));
  return titled(headline(actorOf(payload) || "Someone", doing, where), title);
}

function push(payload: unknown): MessageLines {
  const changes = listAt(payload, "push.changes");
  if (changes.length === 0) return [did(payload, "pushed"), linkAt(payload, "repository")];
  const more = changes.length - MAX_CHANGES;
  return [
    ...changes.slice(0, MAX_CHANGES).flatMap((change): MessageLines => {
      const commits = listAt(change, "commits").toReversed();
      const link = linkAt(change, "links", "new", "old");
      return [did(payload, pushed(change, commits.length)), commitLines(commits), link];
    }),
    more > 0 ? `... and ${more} more ${more === 1 ? "change" : "changes"}` : "",
  ];
}

function pushed(change: unknown, count: number): string {
  const name = headline(lineAt(change, "new.type", "old.type") || "branch", lineAt(change, "new.name", "old.name"));
  if (valueAt(change, "closed") === true) return `deleted ${name}`;
  if (valueAt(change, "created") === true) return `created ${name}`;
  const verb = valueAt(change, "forced") === true ? "force-pushed" : "pushed";
  const more = valueAt(change, "truncated") === true ? "at least " : "";
  return count > 0 ? `${verb} ${more}${counted(count, "commit")} to ${name}` : `${verb} ${name}`;
}

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, string> = new Map([
  ["created", "opened"],
  ["fulfilled", "merged"],
  ["rejected", "declined"],
  ["unapproved", "withdrew the approval of"],
  ["changes_request_created", "requested changes to"],
  ["changes_request_removed", "withdrew the change request to"],
  ["comment_created", "commented on"],
  ["comment_updated", "edited a comment on"],
  ["comment_deleted", "deleted a comment on"],
  ["comment_resolved", "resolved a comment on"],
  ["comment_reopened", "reopened a comment on"],
]);

function pullRequest(payload: unknown, action: string): MessageLines {
  const id = lineAt(payload, "pullrequest.id");
  const doing = PULL_REQUEST_ACTIONS.get(action) ?? (spoken(action) || "updated");
  const [source, target] = ["source", "destination"].map((end) => lineAt(payload, `pullrequest.${end}.branch.name`));
  const file = lineAt(payload, "comment.inline.path");
  const line = lineAt(payload, "comment.inline.to", "comment.inline.from");
  return [
    did(payload, headline(doing, "pull request", id && `#${id}`), lineAt(payload, "pullrequest.title")),
    source && target ? `Branch: ${source} into ${target}` : "",
    labeled("File", file && line ? `${file}:${line}` : file),
    bodyAt(payload, "comment.content.raw"),
    action === "created" || action === "updated" ? bodyAt(payload, "pullrequest.description") : "",
    action === "rejected" ? labeled("Reason", bodyAt(payload, "pullrequest.reason")) : "",
    linkAt(payload, "comment", "pullrequest"),
  ];
}

function issue(payload: unknown, action: string): MessageLines {
  const id = lineAt(payload, "issue.id");
  const doing = action === "comment_created" ? "commented on" : spoken(action) || "updated";
  const state = lineAt(payload, "changes.status.new");
  return [
    did(payload, headline(doing, "issue", id && `#${id}`), lineAt(payload, "issue.title")),
    labeled("Status", state),
    bodyAt(payload, "comment.content.raw"),
    action === "created" ? bodyAt(payload, "issue.content.raw") : "",
    linkAt(payload, "comment", "issue"),
  ];
}

const STATES: ReadonlyMap<string, string> = new Map([
  ["SUCCESSFUL", "succeeded"],
  ["FAILED", "failed"],
  ["INPROGRESS", "is in progress"],
  ["STOPPED", "was stopped"],
]);

function commitStatus(payload: unknown): MessageLines {
  const state = lineAt(payload, "commit_status.state");
  return [
    titled(
      headline(
        "Build",
        lineAt(payload, "commit_status.name", "commit_status.key"),
        STATES.get(state) ?? phrase("is", spoken(state.toLowerCase())),
        phrase("on", lineAt(payload, "commit_status.refname")),
        phrase("in", lineAt(payload, "repository.full_name")),
      ),
      lineAt(payload, "commit_status.description"),
    ),
    labeled("Reported by", actorOf(payload)),
    itemLines([valueAt(payload, "commit_status.commit")], (commit) => commitLines([commit]).join("")),
    textAt(payload, "commit_status.url", "repository.links.html.href"),
  ];
}

function commitComment(payload: unknown): MessageLines {
  return [
    did(payload, headline("commented on commit", lineAt(payload, "commit.hash").slice(0, 7))),
    bodyAt(payload, "comment.content.raw"),
    linkAt(payload, "comment", "commit"),
  ];
}

function anyEvent({ event, payload }: PresetEvent): MessageLines {
  const kind = spoken(event ?? "") || "Bitbucket event";
  const to = phrase("to", lineAt(payload, "fork.full_name"));
  const where = phrase("in", lineAt(payload, "repository.full_name", "workspace.slug"));
  const link = linkAt(payload, "fork", "repository");
  return [
    capitalized(headline(kind, where, to, phrase("by", actorOf(payload)))),
    link,
    link === "" ? asJson(payload) : "",
  ];
}

function linkAt(payload: unknown, ...keys: readonly string[]): string {
  return textAt(payload, ...keys.map((key) => (key === "links" ? "links.html.href" : `${key}.links.html.href`)));
}
