import type { HandedTurn, SharedTurns, TakenTurn, TurnOffer, TurnsSeen } from "../../../../src/storage/shared-store.ts";

interface Row extends TakenTurn {
  readonly place: number;
  ends: boolean;
  outcome: string | null;
}

/** The turns of several gateways, in memory. */
export class TurnTable {
  readonly rows: Row[] = [];
  readonly places = new Map<number, TurnOffer>();
  /** While it is set, no gateway gets an answer. */
  isSilent = false;
  #numbers = 0;
  /** Records in the store of the runs that an attempt begins. */
  readonly #begin: (turn: HandedTurn, startedAt: number) => Promise<void>;
  readonly #listeners = new Set<() => void>();

  constructor(begin: (turn: HandedTurn, startedAt: number) => Promise<void>) {
    this.#begin = begin;
  }

  row({ runId, attempt }: HandedTurn): Row | undefined {
    return this.rows.find((row) => row.runId === runId && row.attempt === attempt);
  }

  /** The end of an attempt is recorded. */
  forget(runId: string): void {
    for (const row of this.rows.filter((each) => each.runId === runId)) this.rows.splice(this.rows.indexOf(row), 1);
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** As one gateway sees it. */
  view(): SharedTurns & { readonly place: number } {
    const place = ++this.#numbers;
    return {
      place,
      onChange: (listener) => void this.#listeners.add(listener),
      look: async (offer) => {
        if (this.isSilent) return new Promise<never>(() => {});
        this.places.set(place, offer);
        return this.#seenFrom(place);
      },
      withdraw: async () => void this.places.delete(place),
      hand: async (turn, to) => {
        await this.#begin(turn, to.startedAt);
        this.rows.push({ ...turn, ...to, ends: false, outcome: null });
        this.changed();
      },
      find: async (turn) => this.row(turn),
      end: async (turn) => {
        const row = this.row(turn);
        if (row) row.ends = true;
        this.changed();
      },
      forget: async (runId) => {
        this.forget(runId);
        this.changed();
      },
      leave: async (turn, outcome) => {
        const row = this.row(turn);
        if (row?.place === place && row.outcome === null) row.outcome = outcome;
        this.changed();
      },
    };
  }

  #seenFrom(place: number): TurnsSeen {
    return {
      own: place,
      places: [...this.places].map(([number, offer]) => ({ number, offer })),
      taken: this.rows.filter((row) => row.place === place && row.outcome === null),
      ended: this.rows.filter(({ outcome }) => outcome !== null),
    };
  }
}
