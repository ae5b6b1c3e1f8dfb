import { Lanes } from "../../../../src/dispatch/queue/lanes.ts";
import type { LanesOptions, Place } from "../../../../src/dispatch/queue/lanes.ts";

/** An item and where it stands. */
export interface Standing<Item> {
  readonly item: Item;
  readonly place: Place;
}

/** Lanes whose items are values: the tests read what went, and not its number. */
export class ItemLanes<Item, Group> {
  readonly #lanes: Lanes<Group>;
  readonly #groupOf: (item: Item) => Group;
  readonly #items = new Map<Place, Standing<Item>>();

  constructor({ groupOf, ...options }: LanesOptions<Group> & { readonly groupOf: (item: Item) => Group }) {
    this.#lanes = new Lanes(options);
    this.#groupOf = groupOf;
  }

  get queued(): number {
    return this.#lanes.queued;
  }

  push(lane: string, item: Item): Standing<Item> {
    const place = this.#lanes.push(lane, this.#groupOf(item));
    const standing = { item, place };
    this.#items.set(place, standing);
    return standing;
  }

  next(): Item | undefined {
    return this.#at(this.#lanes.next())?.item;
  }

  take(): Standing<Item> | undefined {
    return this.#at(this.#lanes.take());
  }

  release({ place }: Standing<Item>): void {
    this.#lanes.release(place);
  }

  putBack({ place }: Standing<Item>): void {
    this.#lanes.putBack(place);
  }

  remove({ place }: Standing<Item>): boolean {
    return this.#lanes.remove(place);
  }

  review(group: Group): void {
    this.#lanes.review(group);
  }

  reviewAll(): void {
    this.#lanes.reviewAll();
  }

  #at(place: Place | undefined): Standing<Item> | undefined {
    return place === undefined ? undefined : this.#items.get(place);
  }
}
