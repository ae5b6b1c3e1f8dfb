import { listAt, textAt, valueAt } from "../../../core/payload-text.ts";
import { authorsAt, eventActor, ownActor } from "../../event-fields.ts";
import { lineAt } from "../../message/headline.ts";
import type { EventActor, EventAuthor, PresetContext } from "../../preset.ts";

const SLACKBOT = "USLACKBOT";

/** Who acted; `external` is the role of someone from another workspace, `guest` that of a guest. */
export function slackActor({ payload }: PresetContext): EventActor | undefined {
  const id = lineAt(
    payload,
    "event.user",
    "event.user.id",
    "event.message.user",
    "event.previous_message.user",
    "event.bot_id",
    "event.message.bot_id",
    "user_id",
    "user.id",
  );
  const named = lineAt(
    payload,
    "event.user.name",
    "event.username",
    "event.bot_profile.name",
    "user_name",
    "user.username",
    "user.name",
  );
  const name = named || id;
  if (isOwnBot(payload, id)) return ownActor(name, id);
  const actor = eventActor(name, id, isBot(payload, id));
  return actor && { ...actor, ...(id === "" ? {} : { id }), role: roleOf(payload) };
}

/** What Slack says of the person: a guest is marked where the event holds the person's profile. */
function roleOf(payload: unknown): "member" | "guest" | "external" {
  if (isOfOtherTeam(payload)) return "external";
  const people = ["event.user", "event.user_profile", "event.message.user_profile"];
  const isGuest = people.some((who) =>
    ["is_restricted", "is_ultra_restricted"].some((mark) => valueAt(payload, `${who}.${mark}`) === true),
  );
  return isGuest ? "guest" : "member";
}

/** Whose message an edit, a deletion or a shortcut is about; a shared message comes as an attachment of its author. */
export function slackAuthors({ payload }: PresetContext): readonly EventAuthor[] {
  const edited = ["event.message.user", "event.previous_message.user", "message.user"].map((id) => ({ id }));
  const shared = listAt(payload, "event.attachments").flatMap((part) => authorsAt(part, [{ id: "author_id" }]));
  // A message without words of its own shows what it shares, also what no member wrote.
  const isAlone = textAt(payload, "event.text", "event.message.text") === "";
  const isUnsigned = isAlone && textAt(payload, "event.attachments[0].author_id") === "";
  const isText = textAt(payload, "event.attachments[0].text", "event.attachments[0].fallback") !== "";
  return [...authorsAt(payload, edited), ...shared, ...(isUnsigned && isText ? [{}] : [])];
}

/** The workspace that the app is in: in a channel that is shared, `team_id` may be that of the person. */
export function slackTeam(payload: unknown): string {
  return textAt(payload, "authorizations[0].team_id", "context_team_id", "team_id", "team.id");
}

/** Not `enterprise_id`, for the same reason. */
const ORGANIZATIONS = ["authorizations[0].enterprise_id", "context_enterprise_id", "enterprise.id"];

/**
 * In a channel that two workspaces share. Not every event in one says which of them the person is from: then it
 * may be the other. An organization's id stands for any of its workspaces.
 */
function isOfOtherTeam(payload: unknown): boolean {
  const isShared = valueAt(payload, "is_ext_shared_channel") === true;
  const places = ["event.user_team", "event.message.user_team", "user.team_id"];
  const theirs = textAt(payload, ...places, ...(isShared ? ["event.team", "event.message.team"] : []));
  if (theirs === "") return isShared;
  return theirs !== slackTeam(payload) && theirs !== textAt(payload, ...ORGANIZATIONS);
}

function isBot(payload: unknown, id: string): boolean {
  if (id === SLACKBOT || textAt(payload, "event.bot_id", "event.message.bot_id") !== "") return true;
  return textAt(payload, "event.subtype") === "bot_message" || textAt(payload, "event.user.is_bot") === "true";
}

/** True for the app's own bot: its actions come back as events like anyone's. */
function isOwnBot(payload: unknown, id: string): boolean {
  return listAt(payload, "authorizations").some(
    (own) => valueAt(own, "is_bot") === true && id !== "" && textAt(own, "user_id") === id,
  );
}
