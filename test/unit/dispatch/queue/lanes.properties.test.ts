import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Priority } from "../../../../src/config/run.ts";
import { ItemLanes, type Standing } from "./item-lanes.ts";

interface Item {
  readonly lane: string;
  readonly group: string;
  readonly at: number;
}

/** What the lanes should hold, without any cleverness: every item of a lane in the order of its push. */
class Model {
  readonly waiting: Item[] = [];
  /** Lanes with an item in progress, and that item. */
  readonly busy = new Map<string, Item>();
  readonly closed = new Set<string>();
  readonly places = new Map<Item, Standing<Item>>();
  readonly taken: Standing<Item>[] = [];
  pushed = 0;
  /** Turns that passed over a priority in which something could go. */
  readonly passedOver = { high: 0, normal: 0, low: 0 };

  /** Items that could go: the first of a lane with none in progress, of a group that is open. */
  get able(): Item[] {
    const seen = new Set<string>();
    return this.waiting.filter((item) => {
      const key = item.lane === "" ? `alone ${item.at}` : item.lane;
      if (seen.has(key) || this.busy.has(key)) return false;
      seen.add(key);
      return !this.closed.has(item.group);
    });
  }

  laneOf(item: Item): string {
    return item.lane === "" ? `alone ${item.at}` : item.lane;
  }

  forget(item: Item): void {
    this.waiting.splice(this.waiting.indexOf(item), 1);
  }
}

const PRIORITY_OF: Readonly<Record<string, Priority>> = { h: "high", n: "normal", m: "normal", l: "low" };

type LanesCommand = fc.Command<Model, ItemLanes<Item, string>>;

class Push implements LanesCommand {
  readonly #lane: string;
  readonly #group: string;

  constructor(lane: string, group: string) {
    this.#lane = lane;
    this.#group = group;
  }

  check(): boolean {
    return true;
  }

  run(model: Model, lanes: ItemLanes<Item, string>): void {
    const item = { lane: this.#lane, group: this.#group, at: model.pushed++ };
    model.waiting.push(item);
    model.places.set(item, lanes.push(item.lane, item));
    expect(lanes.queued).toBe(model.waiting.length);
  }

  toString(): string {
    return `push(${this.#lane}, ${this.#group})`;
  }
}

class Take implements LanesCommand {
  check(): boolean {
    return true;
  }

  run(model: Model, lanes: ItemLanes<Item, string>): void {
    const { able } = model;
    const next = lanes.next();
    const taken = lanes.take();
    expect(taken?.item).toBe(next);
    if (able.length === 0) {
      expect(taken).toBeUndefined();
      return;
    }
    const { item } = taken!;
    expect(able).toContain(item);
    this.#checkPriority(model, able, item);
    model.forget(item);
    model.busy.set(model.laneOf(item), item);
    model.taken.push(taken!);
    expect(lanes.queued).toBe(model.waiting.length);
  }

  #checkPriority({ passedOver }: Model, able: readonly Item[], item: Item): void {
    const waiting = new Set(able.map(({ group }) => PRIORITY_OF[group]!));
    const chosen = PRIORITY_OF[item.group]!;
    for (const priority of ["high", "normal", "low"] as const) {
      if (priority !== chosen && waiting.has(priority)) passedOver[priority]++;
      else passedOver[priority] = 0;
      // Two priorities can be overdue at once, and one of them then waits for the other.
      expect(passedOver[priority]).toBeLessThanOrEqual(8);
    }
  }

  toString(): string {
    return "take()";
  }
}

/** Ends, puts back or removes one of the items, chosen by a number. */
class Change implements LanesCommand {
  readonly #what: "release" | "putBack" | "remove" | "removeAgain";
  readonly #choice: number;

  constructor(what: "release" | "putBack" | "remove" | "removeAgain", choice: number) {
    this.#what = what;
    this.#choice = choice;
  }

  check(model: Readonly<Model>): boolean {
    return this.#what === "remove" ? model.waiting.length > 0 : model.taken.length > 0;
  }

  run(model: Model, lanes: ItemLanes<Item, string>): void {
    if (this.#what === "remove") {
      const item = model.waiting[this.#choice % model.waiting.length]!;
      expect(lanes.remove(model.places.get(item)!)).toBe(true);
      model.forget(item);
    } else {
      const place = model.taken[this.#choice % model.taken.length]!;
      const key = model.laneOf(place.item);
      if (this.#what === "removeAgain") {
        expect(lanes.remove(place)).toBe(false);
      } else {
        model.taken.splice(model.taken.indexOf(place), 1);
        model.busy.delete(key);
        if (this.#what === "putBack") model.waiting.unshift(place.item);
        lanes[this.#what](place);
      }
    }
    expect(lanes.queued).toBe(model.waiting.length);
  }

  toString(): string {
    return `${this.#what}(${this.#choice})`;
  }
}

class Close implements LanesCommand {
  readonly #group: string;

  constructor(group: string) {
    this.#group = group;
  }

  check(): boolean {
    return true;
  }

  run({ closed }: Model, lanes: ItemLanes<Item, string>): void {
    if (!closed.delete(this.#group)) closed.add(this.#group);
    lanes.review(this.#group);
  }

  toString(): string {
    return `close or open(${this.#group})`;
  }
}

const lane = fc.constantFrom("a", "b", "c", "__proto__");
const group = fc.constantFrom("h", "n", "m", "l");
const change = fc.constantFrom("release" as const, "putBack" as const, "remove" as const, "removeAgain" as const);

function plainLanes(): ItemLanes<Item, string> {
  return new ItemLanes({ groupOf: () => "", isOpen: () => true, priorityOf: () => "normal" });
}

describe("lanes, for any order of operations", () => {
  it("are FIFO with one item in progress each, respect closed groups and priorities, and lose nothing", () => {
    const commands = fc.commands(
      [
        fc.tuple(fc.oneof(lane, fc.constant("")), group).map(([name, of]) => new Push(name, of)),
        fc.tuple(lane, group).map(([name, of]) => new Push(name, of)),
        fc.constant(new Take()),
        fc.constant(new Take()),
        fc.tuple(change, fc.nat(50)).map(([what, choice]) => new Change(what, choice)),
        group.map((name) => new Close(name)),
      ],
      { maxCommands: 200, size: "max" },
    );
    fc.assert(
      fc.property(commands, (commands) => {
        fc.modelRun(() => {
          const model = new Model();
          const real = new ItemLanes<Item, string>({
            groupOf: (item) => item.group,
            isOpen: (name) => !model.closed.has(name),
            priorityOf: (name) => PRIORITY_OF[name]!,
          });
          return { model, real };
        }, commands);
      }),
      { numRuns: 500 },
    );
  });

  it("lose nothing and double nothing, however many are in progress at once", () => {
    fc.assert(
      fc.property(
        fc.array(lane, { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat()),
        (pushes, concurrency, choices) => {
          const lanes = plainLanes();
          for (const [at, lane] of pushes.entries()) lanes.push(lane, { lane, group: "", at });
          const underWay: Standing<Item>[] = [];
          const carriedOut: Item[] = [];
          for (;;) {
            const next = underWay.length < concurrency ? lanes.take() : undefined;
            if (next) {
              expect(underWay.map(({ item }) => item.lane)).not.toContain(next.item.lane);
              underWay.push(next);
              carriedOut.push(next.item);
            } else if (underWay.length > 0) {
              const [ended] = underWay.splice(choices.next().value % underWay.length, 1);
              lanes.release(ended!);
            } else {
              break;
            }
          }
          expect(lanes.queued).toBe(0);
          expect(carriedOut.map(({ at }) => at).toSorted((a, b) => a - b)).toEqual([...pushes.keys()]);
          for (const name of new Set(pushes)) {
            const ofLane = carriedOut.filter((item) => item.lane === name).map(({ at }) => at);
            expect(ofLane).toEqual(ofLane.toSorted((a, b) => a - b));
          }
        },
      ),
    );
  });

  it("starve no lane: between two turns of a lane every lane that waits has its turn", () => {
    fc.assert(
      fc.property(fc.array(lane, { minLength: 1, maxLength: 60 }), (pushes) => {
        const lanes = plainLanes();
        for (const [at, lane] of pushes.entries()) lanes.push(lane, { lane, group: "", at });
        const turns: string[] = [];
        for (let next = lanes.take(); next; next = lanes.take()) {
          turns.push(next.item.lane);
          lanes.release(next);
        }
        // Nothing is pushed any more, so turns go in rounds that only lose members.
        for (let at = 0; at < turns.length;) {
          const left = turns.slice(at);
          const round = new Set(left);
          expect(new Set(left.slice(0, round.size))).toEqual(round);
          at += round.size;
        }
      }),
    );
  });
});
