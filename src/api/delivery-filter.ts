/** What deliveries a caller asks for, in a query or in a body. */
import { STATES } from "../core/delivery.ts";
import type { State } from "../core/delivery.ts";
import type { DeliveryFilter } from "../index.ts";
import { ApiQueryError } from "./query.ts";
import { readTime } from "./read-time.ts";

/** The names under which a filter is given. */
export const FILTER_NAMES = ["state", "route", "sender", "since", "until", "text"] as const;

export type WrittenFilter = Readonly<Partial<Record<(typeof FILTER_NAMES)[number], string>>>;

const MAX_CHARS = 1_024;

/** Reads a filter; `now` is what durations count back from. Throws an {@link ApiQueryError}. */
export function readFilter(written: WrittenFilter, now: number): DeliveryFilter {
  for (const name of FILTER_NAMES) refuseLength(name, written[name]);
  const { state, route, sender, since, until, text } = written;
  return {
    ...(state === undefined ? {} : { state: readState(state) }),
    ...(route === undefined ? {} : { route }),
    ...(sender === undefined ? {} : { sender }),
    ...(since === undefined ? {} : { receivedFrom: readTime("since", since, now) }),
    ...(until === undefined ? {} : { receivedBefore: readTime("until", until, now) }),
    ...(text === undefined ? {} : { text }),
  };
}

/** An empty value is likelier a variable that was not set than a wish for everything. */
function refuseLength(name: string, value: string | undefined): void {
  if (value === undefined || (value !== "" && value.length <= MAX_CHARS)) return;
  throw new ApiQueryError(`${name} must have 1 to ${MAX_CHARS} characters.`);
}

function readState(text: string): State {
  const state = STATES.find((known) => known === text);
  if (state === undefined) throw new ApiQueryError(`state must be one of ${STATES.join(", ")}.`);
  return state;
}
