import { staleWaits } from "../delivery-store.ts";
import type { AcceptOutcome } from "../new-delivery.ts";
import type { ChangedRun, Failures, SharedFacts, OtherGateway, SenderKeys, SharedStore } from "../shared-store.ts";
import { announce } from "./announced-gateways.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { isLeadHeld } from "./engine/owner-connection.ts";
import type { Writer } from "./engine/writer.ts";
import { acceptAndLeave, acceptAndTake } from "./operations/accept.ts";
import { take } from "./operations/arrivals.ts";
import type { NewDeliveryRow } from "./operations/new-delivery-row.ts";
import { keepKey } from "./operations/operational-state.ts";
import { senderKeysIn } from "./sender-keys.ts";
import { SharedFailures } from "./shared-failures.ts";
import { PostgresTurns } from "./turns.ts";

/** How often a gateway asks for the lead, and one that leads looks for what no notification named. */
const ASK_MS = 100;
const LOOK_MS = 1_000;

/** Which of the gateways on a database carries out the runs, and how it gets to know those that others accept. */
export class Succession implements SharedStore {
  readonly senderKeys: SenderKeys;
  readonly turns: PostgresTurns;
  readonly #database: PostgresDatabase;
  readonly #writer: Writer;
  readonly #failures: SharedFailures;
  readonly #leading = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  #listener: ((changed: readonly ChangedRun[]) => void) | undefined;
  /** True: it had the lead before its first call. */
  readonly #ledFirst: boolean;
  #isAsking = false;
  /** The latest time that it asked for the lead, the answer was an error. */
  #hasFailed = false;

  constructor(database: PostgresDatabase) {
    const { writer } = database;
    this.senderKeys = senderKeysIn(database);
    this.turns = new PostgresTurns(database);
    this.#database = database;
    this.#writer = writer;
    this.#failures = new SharedFailures(database);
    this.#ledFirst = writer.leads;
    if (writer.leads) this.#leading.resolve();
    else this.#timer = setInterval(() => void this.#ask(), ASK_MS).unref();
  }

  get leading(): Promise<void> {
    return this.#leading.promise;
  }

  get leads(): boolean {
    return this.#writer.leads;
  }

  get replaced(): Promise<Error> {
    return this.#writer.replaced;
  }

  decline(): void {
    if (!this.leads) clearInterval(this.#timer);
  }

  follow(listener: (changed: readonly ChangedRun[]) => void): void {
    this.#listener = listener;
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
    this.look();
  }

  exchangeFailures(own: readonly Failures[]): Promise<readonly Failures[]> {
    return this.#failures.exchange(own);
  }

  announce(own: SharedFacts): Promise<readonly OtherGateway[]> {
    return announce(this.#database, own);
  }

  keyOfAll(own: Uint8Array): Promise<Uint8Array> {
    return this.#writer.write(keepKey, own);
  }

  /** True while what changes here is left to the gateway that leads, or to the time when this one has all open runs. */
  get leaves(): boolean {
    return !this.#ledFirst && this.#listener === undefined;
  }

  /** Accepts a delivery; `isLeft`: the gateway that leads finds its runs. */
  async accept(row: NewDeliveryRow): Promise<{ readonly outcome: AcceptOutcome; readonly isLeft: boolean }> {
    const isLeft = this.leaves;
    const { outcome, taken = [] } = await this.#writer.write(isLeft ? acceptAndLeave : acceptAndTake, row);
    this.#give(taken);
    if (outcome.kind === "stale") throw staleWaits();
    return { outcome, isLeft };
  }

  /** A notification has come: without a payload, of runs that were accepted, moved or ended. */
  arrived(payload: string): void {
    if (payload === "") this.look();
    else this.turns.notify(payload);
  }

  /** Takes what others have left. */
  look(): void {
    if (this.#listener === undefined) return;
    // Where it fails it stays there, for the next time.
    this.#writer.write(take, undefined).then(
      (taken) => this.#give(taken),
      () => {},
    );
  }

  /** Forgets what was left so far: a gateway that begins to lead reads all open runs after this. */
  async forget(): Promise<void> {
    if (!this.#writer.leads) return;
    await this.#writer.write(take, undefined);
    await this.turns.forgetOld();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #give(taken: readonly ChangedRun[]): void {
    if (taken.length > 0) this.#listener?.(taken);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      // A lock that was taken stays when its transaction fails: it may be this gateway itself that has it, without
      // leading, and no other one could lead then.
      if (!this.#hasFailed && (await this.#database.read(isLeadHeld))) return;
      this.#hasFailed = true;
      const isTaken = await this.#writer.lead();
      this.#hasFailed = false;
      if (!isTaken) return;
      clearInterval(this.#timer);
      this.#leading.resolve();
    } catch {
      // It asks again: the connection may be back by then.
    } finally {
      this.#isAsking = false;
    }
  }
}
