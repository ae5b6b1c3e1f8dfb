/** A store that several gateways use: a part of the store contract. One of them carries out the runs of all. */
import type { RunState } from "../core/run.ts";
import type { OpenRun } from "./open-run.ts";

/**
 * A gateway that has had no answer of the store for so many milliseconds ends what no other one may do as well: another
 * one may have its place soon.
 */
export const ANSWER_MARGIN_MS = 3_500;

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
  /** A gateway that stops and does not lead leaves the lead to others. */
  decline(): void;
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
  announce(own: SharedFacts): Promise<readonly OtherGateway[]>;
  /** What the gateway with the runs has others carry out. */
  readonly turns: SharedTurns;
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
export interface SharedFacts {
  /** Of the program. */
  readonly version: string;
  /** Stands for the `hooks` block: equal where that is. */
  readonly config: string;
}

export interface OtherGateway extends SharedFacts {
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

/** An attempt at a run, whose turn another gateway carries out. */
export interface HandedTurn {
  readonly runId: string;
  readonly attempt: number;
}

/** The gateway that a turn is handed to. */
export interface HandedTo {
  readonly place: number;
  /** The turn as text, for that gateway. */
  readonly request: string;
  readonly startedAt: number;
}

/** What a gateway takes of the turns of all. */
export interface TurnOffer {
  /** Equal where the version and the `hooks` block are. */
  readonly alike: string;
  /** Ids of its agents, and of its channels. */
  readonly agents: readonly string[];
  readonly channels: readonly string[];
  /** Turns at once. */
  readonly turns: number;
}

/** A connection of a gateway that takes turns; another one has another number. */
export interface TurnPlace {
  readonly number: number;
  readonly offer: TurnOffer;
}

/** A turn that was handed to this gateway and has no outcome yet. */
export interface TakenTurn extends HandedTurn {
  /** What the gateway that handed it out said of it, as text. */
  readonly request: string;
  /** True: it is to end. */
  readonly ends: boolean;
}

export interface TurnsSeen {
  /** The place of this gateway; `undefined`: it has lost it, and what was handed to it there. */
  readonly own: number | undefined;
  /** Those of all gateways whose connections are open. */
  readonly places: readonly TurnPlace[];
  readonly taken: readonly TakenTurn[];
  /** Turns of all that have an outcome. */
  readonly ended: readonly HandedTurn[];
}

/**
 * Turns on their way between gateways. A turn is there until the end of its attempt is recorded. The methods reject with
 * a `StoreError`.
 */
export interface SharedTurns {
  /**
   * Says what this gateway takes, and returns what there is. To be called several times a second: the server releases the
   * place of a gateway that is lost or frozen, and everything that it was given goes to another one then.
   */
  look(offer: TurnOffer): Promise<TurnsSeen>;
  /** Gives up the place of this gateway, with what was handed to it there; the next look takes another one. */
  withdraw(): Promise<void>;
  /** Calls the listener when there may be something new. */
  onChange(listener: () => void): void;
  /** Records that the attempt begins, and gives its turn to a gateway, with one commit. */
  hand(turn: HandedTurn, to: HandedTo): Promise<void>;
  /** Where a turn was handed to, and its outcome, once it has one; `undefined`: it was not handed out. */
  find(turn: HandedTurn): Promise<{ readonly place: number; readonly outcome: string | null } | undefined>;
  /** The gateway that has the turn is to end it. */
  end(turn: HandedTurn): Promise<void>;
  /** Takes the turns of a settled run away from the gateways that have them; to be called when none waits for one. */
  forget(runId: string): Promise<void>;
  /** Leaves the outcome of a turn that this gateway has carried out; it is lost when the turn is no longer its own. */
  leave(turn: HandedTurn, outcome: string): Promise<void>;
}
