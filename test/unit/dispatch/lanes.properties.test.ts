import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fifo, Lanes } from "../../../src/dispatch/lanes.ts";

interface Item {
  readonly lane: string;
  readonly at: number;
}

/** What the lanes should hold, without any cleverness: every item in the order of its push. */
interface Model {
  waiting: Item[];
  /** Lanes with an item under way. */
  readonly busy: Set<string>;
  /** Lanes that can go, in the order in which they became able to. */
  ready: string[];
  pushed: number;
}

type LanesCommand = fc.Command<Model, Lanes<Item>>;

class Push implements LanesCommand {
  readonly #lane: string;

  constructor(lane: string) {
    this.#lane = lane;
  }

  check(): boolean {
    return true;
  }

  run(model: Model, lanes: Lanes<Item>): void {
    const item = { lane: this.#lane, at: model.pushed++ };
    const isFirst = !model.busy.has(item.lane) && !model.waiting.some(({ lane }) => lane === item.lane);
    if (isFirst) model.ready.push(item.lane);
    model.waiting.push(item);
    lanes.push(item.lane, item);
    expect(lanes.queued).toBe(model.waiting.length);
  }

  toString(): string {
    return `push(${this.#lane})`;
  }
}

class Take implements LanesCommand {
  check(): boolean {
    return true;
  }

  run(model: Model, lanes: Lanes<Item>): void {
    const lane = model.ready.shift();
    const taken = lanes.take();
    if (lane === undefined) {
      expect(taken).toBeUndefined();
      return;
    }
    const item = model.waiting.find((each) => each.lane === lane)!;
    expect(taken).toEqual({ lane, item });
    model.waiting = model.waiting.filter((each) => each !== item);
    model.busy.add(lane);
    expect(lanes.queued).toBe(model.waiting.length);
  }

  toString(): string {
    return "take()";
  }
}

class Release implements LanesCommand {
  readonly #lane: string;

  constructor(lane: string) {
    this.#lane = lane;
  }

  check(): boolean {
    return true;
  }

  run(model: Model, lanes: Lanes<Item>): void {
    lanes.release(this.#lane);
    // Releasing what nobody took must change nothing.
    if (!model.busy.delete(this.#lane)) return;
    if (model.waiting.some(({ lane }) => lane === this.#lane)) model.ready.push(this.#lane);
  }

  toString(): string {
    return `release(${this.#lane})`;
  }
}

const lane = fc.constantFrom("a", "b", "c", "__proto__");

describe("lanes, for any order of pushes, takes and releases", () => {
  it("are FIFO, have at most one item under way each, and serve whoever could go first", () => {
    const commands = fc.commands(
      [lane.map((name) => new Push(name)), fc.constant(new Take()), lane.map((name) => new Release(name))],
      { maxCommands: 120, size: "max" },
    );
    fc.assert(
      fc.property(commands, (commands) => {
        fc.modelRun(() => {
          const model: Model = { waiting: [], busy: new Set(), ready: [], pushed: 0 };
          return { model, real: new Lanes<Item>() };
        }, commands);
      }),
      { numRuns: 500 },
    );
  });

  it("lose nothing and double nothing, however many are under way at once", () => {
    fc.assert(
      fc.property(
        fc.array(lane, { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat()),
        (pushes, concurrency, choices) => {
          const lanes = new Lanes<Item>();
          for (const [at, lane] of pushes.entries()) lanes.push(lane, { lane, at });
          const underWay: string[] = [];
          const carriedOut: Item[] = [];
          for (;;) {
            const next = underWay.length < concurrency ? lanes.take() : undefined;
            if (next) {
              expect(underWay).not.toContain(next.lane);
              underWay.push(next.lane);
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

  it("starve nobody: between two turns of a lane every lane that waits has its turn", () => {
    fc.assert(
      fc.property(fc.array(lane, { minLength: 1, maxLength: 60 }), (pushes) => {
        const lanes = new Lanes<string>();
        for (const name of pushes) lanes.push(name, name);
        const turns: string[] = [];
        for (let next = lanes.take(); next; next = lanes.take()) {
          turns.push(next.item);
          lanes.release(next.lane);
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

describe("a Fifo, for any use", () => {
  it("is the array that it stands for, also past its compactions", () => {
    const step = fc.oneof(
      fc.record({ push: fc.integer({ min: 1, max: 1_500 }) }),
      fc.record({ shift: fc.integer({ min: 1, max: 1_500 }) }),
      fc.record({ many: fc.integer({ min: 0, max: 1_500 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const fifo = new Fifo<number>();
        const model: number[] = [];
        let next = 0;
        for (const step of steps) {
          if ("push" in step) {
            for (let i = 0; i < step.push; i++) {
              fifo.push(next);
              model.push(next++);
            }
          } else if ("many" in step) {
            expect(fifo.shiftMany(step.many)).toEqual(model.splice(0, step.many));
          } else {
            const given = Array.from({ length: step.shift }, () => fifo.shift());
            const expected: (number | undefined)[] = model.splice(0, step.shift);
            while (expected.length < step.shift) expected.push(undefined);
            expect(given).toEqual(expected);
          }
          expect(fifo.length).toBe(model.length);
        }
      }),
      { numRuns: 60 },
    );
  });
});
