/** How a sender registers a webhook by its API. */
import type { ApiFacts, SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";

export type PlaceKind = "repo" | "org" | "project" | "group";

/** Where at the sender a webhook is registered: the repository acme/web. */
export interface HookPlace {
  readonly kind: PlaceKind;
  readonly name: string;
}

/** A webhook that a sender has. */
export interface Registration {
  /** The sender's id of it; no secret. */
  readonly id: string;
  /** `null` where the token says it. */
  readonly place: HookPlace | null;
  readonly url: string;
}

export interface Wish {
  readonly url: string;
  /** `undefined`: the sender makes it. */
  readonly secret: string | undefined;
  /** `undefined`: the registrar's own choice, and those it has for a webhook that is there. */
  readonly events: readonly string[] | undefined;
  readonly place: HookPlace | null;
  /** What was registered there for this sender before, perhaps under another URL. */
  readonly before?: Pick<Registration, "id" | "url"> | undefined;
  /** True: what is in the way is taken away. */
  readonly replace: boolean;
}

export interface Registered {
  readonly id: string;
  /** For people: `webhook 7 of acme/web`. */
  readonly name: string;
  /** False: it was there, and is updated. */
  readonly isNew: boolean;
  /** Empty: those that the sender sends where none are chosen. */
  readonly events: readonly string[];
  /** What the sender made. */
  readonly secret?: string;
}

export interface Registrar extends ApiFacts {
  /** The name of its preset. */
  readonly preset: string;
  /** Where it can be registered, the first being asked for; empty where the token says it. */
  readonly places: readonly PlaceKind[];
  /** Makes the webhook, or updates the one with that URL. Rejects with a `CliError`. */
  register(api: SenderApi, wish: Wish): Promise<Registered>;
  /** Resolves with false when it was gone already. Rejects with a `CliError`. */
  remove(api: SenderApi, registration: Registration): Promise<boolean>;
}

/** Webhooks are listed in so many pages of a hundred at most. */
export const MAX_PAGES = 10;
export const PAGE_SIZE = 100;
