import { eventActor } from "../../event-fields.ts";
import { joinText, textAt } from "../../../core/payload-text.ts";
import type { EventActor, PresetContext } from "../../preset.ts";
import { lineAt } from "../../message/headline.ts";

/** GitLab marks the accounts that belong to access tokens, service accounts and itself by their names. */
const BOT_NAMES =
  /^(?:(?:project|group)_\d+_bot(?:_|\d|$)|service_account_|(?:alert|support|security|migration|automation)-bot\d*$|gitlabduo$)/i;

/** `merge_request.open`, `pipeline.failed`: the kind of event, and what was done or how it went. */
export function gitlabEvent({ payload }: PresetContext): string | undefined {
  const kind = textAt(payload, "object_kind", "event_name");
  const detail = textAt(payload, "object_attributes.action", "action", ...statusPaths(kind));
  return joinText(".", kind, detail) || undefined;
}

/** The path of the state, for events that have no action. */
function statusPaths(kind: string): readonly string[] {
  if (kind === "pipeline") return ["object_attributes.status"];
  if (kind === "build") return ["build_status"];
  return kind === "deployment" ? ["status"] : [];
}

/** The actor of the event; the user of a membership event is its subject, so that it has no actor. */
export function gitlabSender({ payload }: PresetContext): EventActor | undefined {
  const name = gitlabActor(payload);
  const id = lineAt(payload, "user.id", "user_id");
  return eventActor(name, id, BOT_NAMES.test(name));
}

/** The name by which messages call who caused the event; empty when GitLab does not say. */
export function gitlabActor(payload: unknown): string {
  if (/^user_(?:add|remove|update|access)/.test(textAt(payload, "event_name"))) return "";
  return lineAt(payload, "user.username", "user_username", "user.name", "user_name");
}
