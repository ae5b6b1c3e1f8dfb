import type { EventActor } from "./preset.ts";

/** Who caused an event; nobody without a name. An id that is empty or the name itself is left out. */
export function eventActor(name: string, id = "", bot = false): EventActor | undefined {
  if (name === "") return undefined;
  return { name, ...(id === "" || id === name ? {} : { id }), bot };
}

/** Whether a login carries the mark of an app's account: `dependabot[bot]`. */
export function hasBotMark(login: string): boolean {
  return login.toLowerCase().endsWith("[bot]");
}
