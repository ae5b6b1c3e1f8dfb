/** A subscription at a sender that ends by itself unless it is renewed. */
import type { ApiFacts, SenderApi } from "./sender-api.ts";

/** What a sender says of a subscription that it has made or renewed. */
export interface Begun {
  readonly id: string;
  /** A second id that some senders want when it is ended. */
  readonly resourceId?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface SubscriptionWish {
  /** That the sender calls. */
  readonly url: string;
  /** What is watched: a folder of mail, a topic, a calendar. */
  readonly resource: string;
  /** Empty: the kind's own choice. */
  readonly events: readonly string[];
  /** Asked for only where the sender gets it. */
  readonly secret: () => string;
}

export interface SubscriptionKind extends ApiFacts {
  /** The name of its preset. */
  readonly preset: string;
  /** Where an access token is had; `{tenant}` is that of the credentials. */
  readonly tokenUrl: string;
  /** Of a token that an application gets for itself. */
  readonly scope?: string;
  /** What is watched where nothing else is named; `undefined`: it must be named. */
  readonly resource: string | undefined;
  /** For messages: `--resource projects/<project>/topics/<topic>`. */
  readonly resourceHint: string;
  readonly events: readonly string[];
  /** False: its preset has no secret. */
  readonly hasSecret: boolean;
  /** Makes it. Rejects with a `SenderApiError`. */
  begin(api: SenderApi, wish: SubscriptionWish): Promise<Begun>;
  /** Makes it last; makes another one where it is gone. Rejects with a `SenderApiError`. */
  renew(api: SenderApi, known: SubscriptionWish & Begun): Promise<Begun>;
  /** Ends it. Rejects with a `SenderApiError`. */
  end(api: SenderApi, known: Begun): Promise<void>;
}

/** A moment that a sender writes as ISO 8601 or as milliseconds; a wrong one is soon. */
export function momentOf(text: string): number {
  const time = /^\d{12,15}$/u.test(text) ? Number(text) : Date.parse(text);
  return Number.isFinite(time) ? time : Date.now();
}
