import { definePreset } from "../../define-preset.ts";
import { unwrapFormPayload } from "../../embedded-payload.ts";
import { authorsAt, eventActor, hasBotMark } from "../../event-fields.ts";
import type { EventActor, EventAuthor, PresetContext } from "../../preset.ts";
import { listAt, textAt, valueAt, wholeTextAt } from "../../../core/payload-text.ts";
import { lineAt } from "../../message/headline.ts";
import { githubMessage } from "./github-message.ts";
import { githubObjects } from "./github-objects.ts";
import { githubSamples } from "./github-samples.ts";

/** GitHub sends no event that is larger. */
const MAX_BODY_BYTES = 26_214_400;

/**
 * Webhooks of GitHub repositories, organizations and apps, as JSON or as the form that hooks made through
 * the API default to. Neither the event's name nor the delivery's id is signed; the body is.
 */
export const github = definePreset({
  name: "github",
  title: "GitHub",
  text: "markdown",
  documentation: "https://docs.github.com/en/webhooks",
  auth: { from: "header:x-hub-signature-256", prefix: "sha256=" },
  secret: {
    label: "Secret",
    madeBy: "owner",
    known: ["It's a Secret to Everybody", "your_webhook_secret", "mysecret"],
  },
  event: ["header:x-github-event", "body:action"],
  deliveryId: { from: "header:x-github-delivery", signed: false },
  sender: senderOf,
  authors: authorsOf,
  vouchesForActors: true,
  roles: { OWNER: "trusted", MEMBER: "trusted", COLLABORATOR: "trusted", CONTRIBUTOR: "known" },
  objects: githubObjects,
  unwrap: unwrapFormPayload,
  written: writtenBy,
  skip: ({ event }) => (event?.split(".", 1)[0] === "ping" ? "a ping, by which GitHub tries the webhook" : undefined),
  message: ({ event, payload }) => githubMessage(event, payload),
  mapping: { name: "GitHub", links: ["github.com"], accept: ["json", "form"], maxBodyBytes: MAX_BODY_BYTES },
  success: {
    statuses: "2xx, within 10 seconds",
    otherwise: "marks the delivery as failed, and does not try again by itself",
  },
  ignored:
    "events of accounts of type Bot or whose name ends in [bot], except their deployments and commit statuses, and pings",
  samples: githubSamples,
  setup: [
    "Open the repository's (or organization's) Settings, then Webhooks, and choose Add webhook.",
    "Payload URL: {url}",
    "Content type: application/json.",
    "{secret}: generate one, for example with openssl rand -hex 32, and set the same as hooks.github.secret.",
    "Choose the events under Let me select individual events, keep Active ticked, and choose Add webhook.",
  ],
});

/** Machines report by these events, so what a bot says in them is news. */
const REPORTS: ReadonlySet<string> = new Set(["deployment", "deployment_status", "status"]);

function senderOf({ payload, headers }: PresetContext): EventActor | undefined {
  const name = lineAt(payload, "sender.login", "pusher.name");
  const id = lineAt(payload, "sender.id");
  const isBot = lineAt(payload, "sender.type") === "Bot" || hasBotMark(name);
  const actor = eventActor(name, id, isBot && !REPORTS.has(headers["x-github-event"] ?? ""));
  const role = roleOf(payload, id);
  return actor && (role === "" ? actor : { ...actor, role });
}

/** The texts of one event, the most particular first. */
const WRITTEN = ["comment", "review", "discussion", "issue", "pull_request", "release"] as const;

/** A comment comes with the issue that it is under. */
function writtenBy({ payload }: PresetContext): string | undefined {
  const own = WRITTEN.find((key) => typeof valueAt(payload, key) === "object");
  return own === undefined
    ? undefined
    : [wholeTextAt(payload, `${own}.title`), wholeTextAt(payload, `${own}.body`)].join("\n");
}

/** Each says what its author is to the repository, who need not be the one who acts. */
const AUTHORED = ["comment", "review", "discussion", "issue", "pull_request"] as const;

const BY_USER = { id: "user.id", role: "author_association" };

const AUTHORS = [
  ...[...AUTHORED, "answer", "sub_issue", "parent_issue"].map((key) => ({
    id: `${key}.${BY_USER.id}`,
    role: `${key}.${BY_USER.role}`,
  })),
  { id: "release.author.id" },
  // Its title is that of the pull request or the commit, whoever starts it again.
  { id: "workflow_run.actor.id" },
];

/** A thread is resolved by one person and written by others. */
function authorsOf({ payload }: PresetContext): readonly EventAuthor[] {
  const thread = listAt(payload, "thread.comments").flatMap((comment) => authorsAt(comment, [BY_USER]));
  return [...authorsAt(payload, AUTHORS), ...thread];
}

function roleOf(payload: unknown, id: string): string {
  const own = AUTHORED.find((key) => id !== "" && textAt(payload, `${key}.user.id`) === id);
  return own === undefined ? "" : lineAt(payload, `${own}.author_association`);
}
