import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Linked, LinkedList } from "../../../../src/dispatch/queue/linked-list.ts";

class Node extends Linked<Node> {
  readonly name: number;

  constructor(name: number) {
    super();
    this.name = name;
  }
}

/** One thing done with two lists and six nodes. */
const step = fc.record({
  list: fc.constantFrom(0, 1),
  node: fc.integer({ min: 0, max: 5 }),
  what: fc.constantFrom("push" as const, "unshift" as const, "remove" as const, "shift" as const, "pop" as const),
});

describe("a linked list", () => {
  it("is the array that it stands for, with a node in one list at a time, for any use", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const lists = [new LinkedList<Node>(), new LinkedList<Node>()];
        const models: Node[][] = [[], []];
        const nodes = Array.from({ length: 6 }, (_, name) => new Node(name));
        for (const { list: at, node: name, what } of steps) {
          const [list, model, node] = [lists[at]!, models[at]!, nodes[name]!];
          if (what === "shift") expect(list.shift()).toBe(model.shift());
          else if (what === "pop") expect(list.pop()).toBe(model.pop());
          else if (what === "remove") {
            expect(list.remove(node)).toBe(model.includes(node));
            models[at] = model.filter((each) => each !== node);
          } else {
            models[0] = models[0]!.filter((each) => each !== node);
            models[1] = models[1]!.filter((each) => each !== node);
            list[what](node);
            models[at]![what](node);
          }
          for (const [index, each] of lists.entries()) {
            expect(each.length).toBe(models[index]!.length);
            expect(each.first).toBe(models[index]![0]);
          }
        }
        for (const [index, list] of lists.entries()) {
          const left: (Node | undefined)[] = [];
          while (list.length > 0) left.push(list.shift());
          expect(left).toEqual(models[index]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("lets go of the nodes that left it", async () => {
    const list = new LinkedList<Node>();
    const given = Array.from({ length: 100 }, (_, name) => {
      const node = new Node(name);
      list.push(node);
      return new WeakRef(node);
    });
    list.push(new Node(-1));
    for (const _ of given) list.shift();
    // A WeakRef holds its target until the turn that made it has ended.
    await new Promise(setImmediate);
    collectGarbage();
    expect(given.filter((node) => node.deref() !== undefined)).toEqual([]);
    expect(list.length).toBe(1);
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
