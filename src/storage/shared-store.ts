/** A store that several gateways use: a part of the store contract. One of them carries out the runs of all. */
import type { RunState } from "../core/run.ts";
import type { OpenRun } from "./open-run.ts";

/** The keys that senders have delivered, by their routes. Each rejects with a `StoreError`. */
export interface SenderKeys {
  read(): Promise<ReadonlyMap<string, string>>;
  /** Keeps the first key of a route; false when it has one. */
  add(route: string, key: string): Promise<boolean>;
  /** Does nothing when there is none. */
  remove(route: string): Promise<void>;
}

export interface SharedStore {
  /** Those that all gateways on the store have. */
  readonly senderKeys: SenderKeys;
  /** Resolves when this gateway is the one that carries out the runs; it stays so until it is replaced. */
  readonly leading: Promise<void>;
  /** True once {@link leading} is resolved. */
  readonly leads: boolean;
  /**
   * Resolves when another gateway carries out the runs in place of this one: from then on no write of this one takes
   * effect, and what it was carrying out begins again there.
   */
  readonly replaced: Promise<Error>;
  /**
   * Gives other gateways the failures of authentication that were counted here, and returns theirs: those of the last
   * seconds, each once. To be called every second; rejects with a `StoreError` when nothing was given.
   */
  exchangeFailures(own: readonly Failures[]): Promise<readonly Failures[]>;
  /**
   * Records how this gateway is, and returns the others that have done so within a minute; to be called every few
   * seconds. Rejects with a `StoreError`.
   */
  announce(own: GatewayFacts): Promise<readonly OtherGateway[]>;
  /** The key of all gateways on the store: the first one's own, which is kept there. */
  keyOfAll(own: Uint8Array): Promise<Uint8Array>;
  /**
   * To be called by the gateway that leads, once it has what `openRuns` gave. From then on it is given what others
   * change: what was changed before a call of its own arrived here, before that call's `accept` resolves. Never twice
   * the same change, but a run that it knows already may be among them.
   */
  follow(listener: (changed: readonly ChangedRun[]) => void): void;
}

/** What is to be the same at all gateways on a store. */
export interface GatewayFacts {
  /** Of the program. */
  readonly version: string;
  /** Stands for the `hooks` block: equal where that is. */
  readonly config: string;
}

export interface OtherGateway extends GatewayFacts {
  readonly host: string;
  readonly pid: number;
}

/** How often an address failed to authenticate. */
export interface Failures {
  readonly address: string;
  readonly times: number;
}

/** A run that another gateway has accepted, moved or ended, as it is by now. */
export interface ChangedRun extends Omit<OpenRun, "state"> {
  readonly state: RunState;
  readonly reason: string | null;
}
