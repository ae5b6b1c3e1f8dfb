/** The domain types that travel down the pipeline and into the store. */
import type { WorkspaceSpec } from "./agent-rights.ts";
import type { Chain } from "./chain.ts";
import type { ChannelTarget } from "./host.ts";
import type { Level } from "./level.ts";
import type { RunDetail, State, WakeMode } from "./run.ts";

export type { EventObject } from "./run.ts";
export { type Level, LEVELS } from "./level.ts";

/** Header names in lower case; repeated headers are joined with `, `. Has no prototype. */
export type Headers = Readonly<Record<string, string>>;
/** Query parameters; the last value of a repeated name wins. Has no prototype. */
export type Query = Readonly<Record<string, string>>;

/** The parts of a request that are known before its body is read. */
export interface RequestHead {
  readonly method: string;
  /** The part of the raw, still percent-encoded pathname below the prefix: `wake`, `github/push`. */
  readonly path: string;
  readonly query: Query;
  readonly headers: Headers;
  /** The client's address after trusted proxies were skipped, or `unknown`. */
  readonly clientAddress: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** A request whose body has been read and whose sender has not been verified. */
export interface RawRequest extends RequestHead {
  /** The exact bytes received. */
  readonly body: Uint8Array;
}

/** The secret or key that verified a request. */
export interface Credential {
  readonly scheme: string;
  /** Identifies the secret without disclosing it; scopes idempotency keys. */
  readonly id: string;
}

/** The value that a signed request and every copy of it share. */
export interface ReplayKey {
  /** 32 bytes: the digest of the signed content, the same for every way of writing the signature. */
  readonly digest: Uint8Array;
  /** Milliseconds since the epoch, after which a copy would be refused anyway or is allowed. */
  readonly expiresAt: number;
}

/** A parsed request as mappings, transforms and taps see it: without any credential. */
export interface PayloadContext {
  readonly path: string;
  readonly headers: Headers;
  readonly query: Query;
  readonly payload: unknown;
  /** The time of the request's arrival. */
  readonly now: Date;
  /** The event's name, when a preset knows it: `pull_request.opened`. */
  readonly event?: string | undefined;
  /** The actor of the event, when a preset knows it. */
  readonly actor?: EventActor | undefined;
  /** Of an event that a run of the gateway caused. */
  readonly chain?: Chain | undefined;
}

/** The person or bot behind an event. */
export interface EventActor {
  /** The name by which `ignoreActors` knows it. */
  readonly name: string;
  /** Another name it goes by, such as an id. */
  readonly id?: string;
  /** True when the sender marks it as a bot, or when it is the webhook's own app. */
  readonly bot: boolean;
  /** True for the app or account that the webhook belongs to: the agent may have caused the event itself. */
  readonly own?: boolean;
  /** True where the event does not prove the id, as the `From` of a mail that nothing signs: no list and no role counts. */
  readonly unproven?: boolean;
  /** What the sender says that the person is to it: `MEMBER` at GitHub. */
  readonly role?: string;
  /** The least of its own level and of those who wrote text that the event carries; absent until the route is known. */
  readonly level?: Level;
  /** By the mapping's lists and the role, whatever others wrote; absent until the route is known. */
  readonly ownLevel?: Level;
}

/** Someone who wrote text that an event carries: the author of the issue that another person closes. */
export interface EventAuthor {
  /** The sender's id of the account; absent where the sender does not tell it. */
  readonly id?: string;
  /** As of an {@link EventActor}. */
  readonly role?: string;
}

/** The body type of a payload. */
export type PayloadFormat = "json" | "form" | "multipart" | "text";

/** Wakes the main session with a system event (specification 4.1). */
export interface WakeAction {
  readonly kind: "wake";
  readonly text: string;
  readonly mode: WakeMode;
  readonly name?: string;
  readonly agentId?: string;
  /** The main session of the agent when absent. */
  readonly sessionKey?: string;
  /** `request` when any part of the key came from the caller or the payload. */
  readonly sessionKeySource?: "request" | "static";
  /** Turns the boundary off; only a mapping's author can set it. */
  readonly allowUnsafeExternalContent?: boolean;
  /** Where the owner wrote the text; only `chat` of a mapping sets it. */
  readonly owner?: ChannelTarget;
}

/** `persistent`: runs with the same session key continue one conversation. */
export type SessionMode = "isolated" | "persistent";

/** Starts one agent turn (specification 4.2). */
export interface AgentAction {
  readonly kind: "agent";
  readonly message: string;
  readonly name?: string;
  readonly agentId?: string;
  readonly sessionKey?: string;
  /** `request` when any part of the key came from the caller or the payload. */
  readonly sessionKeySource?: "request" | "static";
  readonly wakeMode: WakeMode;
  readonly deliver: boolean;
  /** `last` or a channel id. */
  readonly channel: string;
  readonly to?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly timeoutSeconds?: number;
  /** A fresh transcript when absent. */
  readonly sessionMode?: SessionMode | undefined;
  readonly allowUnsafeExternalContent?: boolean;
  /** `deliver`: the message itself goes to the channel, and no agent runs. */
  readonly mode?: "deliver";
  /** The target of a reply that cannot be sent to `channel`; only a mapping's author can set it. */
  readonly fallback?: { readonly channel: string; readonly to?: string };
  /** The URL that receives the result. */
  readonly callbackUrl?: string;
  /** Where the agent works; only a mapping's author can set it. */
  readonly workspace?: WorkspaceSpec | undefined;
}

export type Action = WakeAction | AgentAction;

/** One delivery as a person sees it in a list. */
export interface DeliverySummary {
  readonly id: string;
  readonly state: State;
  /** The reason of the state; `null` when it needs none. */
  readonly reason: string | null;
  /** The path below the prefix: `wake`, `agent`, `gmail`. */
  readonly route: string;
  readonly mappingId: string | null;
  readonly name: string;
  /** ISO 8601 UTC. */
  readonly receivedAt: string;
  readonly runIds: readonly string[];
  /** The event's name and who caused it, where the preset knows. */
  readonly event: string | null;
  readonly actor: string | null;
  /** Of the actor when the call was accepted; `null` where none is known. */
  readonly level: Level | null;
  /** Of an event that a run of the gateway caused; absent for all others. */
  readonly chain?: Chain;
  /** The delivery that it repeats, that its call is a part of, or that it is a replay of. */
  readonly relatedTo: RelatedDelivery | null;
  /** Of a dead letter, where an operator reads it: its replay that is open or done, if there is one. */
  readonly replayedAs?: { readonly deliveryId: string; readonly state: State };
  /** Of a dead letter that a person has marked as resolved. */
  readonly resolved?: Resolution;
  /** ISO 8601 UTC: the end of its last run; absent while one is open, and for a delivery without runs. */
  readonly settledAt?: string;
  /** The HTTP status that the caller got; absent for a replay, and for a caller that waited for the result. */
  readonly answered?: number;
}

/** A person's word that a dead letter needs nothing more. */
export interface Resolution {
  /** ISO 8601 UTC. */
  readonly at: string;
  /** The person's reason; `null` when none was given. */
  readonly note: string | null;
}

export interface RelatedDelivery {
  readonly how: "duplicate" | "coalesced" | "replay";
  readonly deliveryId: string;
}

/** One delivery with everything that is kept of it. */
export interface DeliveryDetail extends DeliverySummary {
  readonly headers: Headers;
  readonly query: Query;
  /** 0 for a duplicate, whose request is not kept again, and when retention has removed the payload. */
  readonly bodyBytes: number;
  readonly runs: readonly RunDetail[];
  /** Where an operator reads it: its latest replays, newest first. */
  readonly replays?: readonly Pick<DeliverySummary, "id" | "state">[];
  /** Where an operator reads it: the latest repeats of its call, newest first. */
  readonly duplicates?: readonly Pick<DeliverySummary, "id" | "receivedAt">[];
}
