/** A wait: the durable wish of a session to be resumed by an event or at a deadline. */
import type { CarriedRights } from "./agent-rights.ts";
import type { Level } from "./level.ts";
import type { ReplyTarget } from "./run.ts";

/** An event that a wait is about: what is there must be so. One of `hook` and `sender` is. */
export interface WaitMatch {
  /** The id of a mapping. */
  readonly hook?: string | undefined;
  /** The name of a preset. */
  readonly sender?: string | undefined;
  /** The event's name; `*` matches any characters. */
  readonly event?: string | undefined;
  /** A condition in CEL, as `when` of a mapping. */
  readonly when?: string | undefined;
  /** A value of the payload, so that the event of many that look alike is found at once. */
  readonly correlation?: { readonly path: string; readonly equals: string } | undefined;
}

/** The lists whose events a wait tells apart. */
export const WAIT_LISTS = ["all", "any", "none"] as const;
export type WaitList = (typeof WAIT_LISTS)[number];

/** What a wait is for; it does not change. */
export interface WaitTerms {
  readonly agentId: string;
  /** The session key, with its agent. */
  readonly sessionKey: string;
  /** What the session waits for, in its own words. */
  readonly note: string;
  /** Each of these must have come ... */
  readonly all: readonly WaitMatch[];
  /** ... and one of these, where there are any ... */
  readonly any: readonly WaitMatch[];
  /** ... and after that none of these for `quietMs`. */
  readonly none: readonly WaitMatch[];
  /** 0 without `none`. */
  readonly quietMs: number;
  /** Milliseconds since the epoch: the session is resumed then with the fact that the wait was not fulfilled. */
  readonly until: number;
  /** The least level of an actor whose event counts. */
  readonly minLevel: Level;
  /** True: the mapping's own run does not begin where an event counts; the events of `none` leave it alone. */
  readonly instead: boolean;
  readonly createdAt: number;
  /** The run that made it; `null`: a person or an event. */
  readonly madeBy: string | null;
  /** The mapping whose event made it. */
  readonly mapping?: string | undefined;
  /** Where the reply of the resumed run goes; absent: nowhere. */
  readonly delivery?: ReplyTarget | undefined;
  readonly fallback?: ReplyTarget | undefined;
}

/** An event that has come. */
export interface SeenEvent {
  readonly list: "all" | "any";
  readonly index: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly hook: string;
  readonly event: string | null;
  /** What the resumed session reads of it. */
  readonly text: string;
}

export interface Wait extends WaitTerms {
  readonly id: string;
  /** How many times more it is fulfilled before it ends. */
  readonly times: number;
  readonly seen: readonly SeenEvent[];
  /** Since when nothing but `none` is open; `null`: more must come first. */
  readonly quietSince: number | null;
  /** What is left to the resumed run by those whose texts it carries. */
  readonly level: Level;
  readonly rights: CarriedRights;
}
