import { createHash } from "node:crypto";
import { textAt } from "../core/payload-text.ts";
import type { EventActor, EventAuthor } from "./preset.ts";

const MAX_NAMES = 20;

/** The event of a request that carries several: their distinct names in order, joined with `+`. */
export function batchEvent(names: readonly string[]): string | undefined {
  const distinct = [...new Set(names.filter((name) => name !== ""))].slice(0, MAX_NAMES);
  return distinct.length === 0 ? undefined : distinct.join("+");
}

/** Longer ids are replaced by a digest: two ids cut to the same length could be equal. */
const MAX_ID = 200;

/** The delivery id of a request that carries several events, derived from their ids; none unless each has one. */
export function batchId(ids: readonly string[]): string | undefined {
  const [first] = ids;
  if (first === undefined || ids.includes("")) return undefined;
  if (ids.length === 1 && first.length <= MAX_ID) return first;
  return contentId(ids);
}

/**
 * An id of what a payload holds, for senders whose own words can be the same for two events: a second try repeats the
 * payload, and another event differs in it. Only for a payload with the time of its event: the same can happen again.
 */
export function contentId(payload: unknown): string {
  return `sha256-${createHash("sha256")
    .update(JSON.stringify(payload) ?? "")
    .digest("hex")}`;
}

/** The actor of an event; `undefined` without a name. An id that is empty or the name itself is left out. */
export function eventActor(name: string, id = "", bot = false): EventActor | undefined {
  if (name === "") return undefined;
  return { name, ...(id === "" || id === name ? {} : { id }), bot };
}

/** The authors whose ids are at these paths of a payload, each with the role at its own path; those that are not there are left out. */
export function authorsAt(
  payload: unknown,
  places: readonly { readonly id: string; readonly role?: string }[],
): readonly EventAuthor[] {
  return places.flatMap((at): EventAuthor[] => {
    const id = textAt(payload, at.id);
    const role = at.role === undefined ? "" : textAt(payload, at.role);
    return id === "" ? [] : [{ id, ...(role !== "" && { role }) }];
  });
}

/** The app or account that the webhook belongs to. `ignoreBots` filters its events: the agent may have caused them. */
export function ownActor(name: string, id = ""): EventActor | undefined {
  const actor = eventActor(name, id, true);
  return actor && { ...actor, own: true };
}

/** True when a login carries the mark of an app's account: `dependabot[bot]`. */
export function hasBotMark(login: string): boolean {
  return login.toLowerCase().endsWith("[bot]");
}
