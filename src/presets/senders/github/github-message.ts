import { joinText, messageOf } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { asJson } from "../../message/data-lines.ts";
import { bodyAt, capitalized, headline, lineAt, phrase, spoken, titled } from "../../message/headline.ts";
import { ALERT_MESSAGES } from "./alert-messages.ts";
import { AUTOMATION_MESSAGES } from "./automation-messages.ts";
import { CODE_MESSAGES } from "./code-messages.ts";
import { CONVERSATION_MESSAGES } from "./conversation-messages.ts";
import { linkAt, viewGithub } from "./github-view.ts";
import type { GithubView } from "./github-view.ts";

const MESSAGES: ReadonlyMap<string, (view: GithubView) => MessageLines> = new Map([
  ...Object.entries(CONVERSATION_MESSAGES),
  ...Object.entries(CODE_MESSAGES),
  ...Object.entries(AUTOMATION_MESSAGES),
  ...Object.entries(ALERT_MESSAGES),
]);

/**
 * The text of a GitHub event for a person: who did what where, the text that matters, a link.
 * Shapes: https://docs.github.com/en/webhooks/webhook-events-and-payloads
 */
export function githubMessage(event: string | undefined, payload: unknown): string {
  const view = viewGithub(event, payload);
  return messageOf(...(MESSAGES.get(view.event) ?? anyEvent)(view));
}

/** The places of names of events that have no words of their own, best first. */
const NAMES = ["full_name", "title", "name", "login", "display_title", "note", "summary"];

/** `Label created in acme/app by octo: bug`. */
function anyEvent({ payload, event, action, where }: GithubView): MessageLines {
  const key = /^[a-z0-9_]+$/.test(event) ? event : "";
  const subjects = key === "" ? [] : [key, ...SUBJECTS.filter((subject) => key.includes(subject))];
  const title = lineAt(payload, ...subjects.flatMap((subject) => NAMES.map((name) => `${subject}.${name}`)));
  const team = event === "team" ? "" : lineAt(payload, "team.name");
  const person = lineAt(payload, "member.login", "membership.user.login", "blocked_user.login", "invitation.login");
  const by = phrase("by", lineAt(payload, "sender.login"));
  const text = subjects.length === 0 ? "" : bodyAt(payload, ...subjects.map((subject) => `${subject}.description`));
  const link = linkAt(payload, ...subjects, "team", "organization", "repository");
  const described = joinText(", ", title, person, team);
  return [
    titled(capitalized(headline(spoken(event) || "GitHub event", spoken(action), where, by)), described),
    text,
    link,
    described === "" && text === "" ? asJson(payload, isNoise) : "",
  ];
}

/** The key of the subject, where it is not the event's own name. */
const SUBJECTS = [
  "key",
  "installation",
  "membership",
  "package",
  "project",
  "rule",
  "milestone",
  "merge_group",
  "hook",
  "build",
];

/** Boilerplate that says nothing about this event in particular, and what only programs read. */
const BOILERPLATE = new Set(["action", "sender", "repository", "organization", "enterprise", "installation", "hook"]);

function isNoise(key: string): boolean {
  return BOILERPLATE.has(key) || key === "node_id" || key === "url" || (key.endsWith("_url") && key !== "html_url");
}
