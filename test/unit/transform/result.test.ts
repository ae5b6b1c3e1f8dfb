import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TransformError } from "../../../src/transform/call.ts";
import { readResult } from "../../../src/transform/result.ts";

const read = (value: unknown, maxActions = 10): unknown => readResult(value, { maxActions });

function refusalOf(value: unknown, maxActions = 10): string {
  try {
    readResult(value, { maxActions });
  } catch (error) {
    if (error instanceof TransformError && error.kind === "failed") return error.message;
    throw error;
  }
  return "read";
}

describe("what a transform returned", () => {
  it("is nothing to do when it is null, an empty array, or an array of nulls", () => {
    expect(read(null)).toEqual([]);
    expect(read([])).toEqual([]);
    expect(read([null, null])).toEqual([]);
  });

  it.each([undefined, false, 0, Number.NaN, ""])("keeps the mapping's own action when it is %j", (value) => {
    expect(read(value)).toEqual([undefined]);
  });

  it("is one action, or one for each object of an array", () => {
    expect(read({ message: "a" })).toEqual([{ message: "a" }]);
    expect(read([{ message: "a" }, null, { kind: "wake", text: "b" }])).toEqual([
      { message: "a" },
      { kind: "wake", text: "b" },
    ]);
  });

  it("may leave out every field, give null for it, and have others", () => {
    const action = { kind: null, name: null, message: null, to: null, deliver: null, timeoutSeconds: null, mine: [1] };
    expect(read(action)).toEqual([action]);
    expect(read({})).toEqual([{}]);
  });

  it("may give ids as numbers", () => {
    expect(read({ to: -1_001_234, channel: 7, sessionKey: 5 })).toEqual([
      { to: -1_001_234, channel: 7, sessionKey: 5 },
    ]);
  });

  it.each([["text"], [true], [7], [() => ({})], [Symbol("x")], [(function* () {})()]])(
    "fails when it is no object: %#",
    (value) => {
      expect(refusalOf(value)).toBe("has to return an object, an array of objects, null or undefined");
    },
  );

  it.each([["text"], [undefined], [[]], [1], [Promise.resolve({})]])(
    "fails when an array holds what is no object: %#",
    (value) => {
      expect(refusalOf([{}, value])).toBe(
        "has to return an object, an array of objects, null or undefined; look at [1]",
      );
    },
  );

  it.each<[object, string]>([
    [{ kind: "run" }, "kind: the value is not one of wake, agent"],
    [{ message: 7 }, "message: the value is not a string"],
    [{ text: ["a"] }, "text: the value is not a string"],
    [{ deliver: "false" }, "deliver: the value is not true or false"],
    [{ allowUnsafeExternalContent: 1 }, "allowUnsafeExternalContent: the value is not true or false"],
    [{ to: { id: 1 } }, "to: the value is not a string"],
    [{ wakeMode: "later" }, "wakeMode: the value is not one of now, next-heartbeat"],
    [{ sessionMode: "shared" }, "sessionMode: the value is not one of isolated, persistent"],
    [{ timeoutSeconds: 0 }, "timeoutSeconds: the value must be > 0"],
    [{ timeoutSeconds: "5" }, "timeoutSeconds: the value is not a number of seconds above 0"],
  ])("fails with %j, and says which field it is", (value, message) => {
    expect(refusalOf(value)).toContain(message);
    expect(refusalOf([{}, value])).toContain(`[1].${message}`);
  });

  it("fails with more actions than are allowed", () => {
    expect(refusalOf([{}, {}, {}], 2)).toBe("returned 3 actions; hooks.maxFanOut allows 2");
    expect(refusalOf([{}, {}], 2)).toBe("read");
    expect(refusalOf([null, {}, null, {}], 2)).toBe("read");
  });

  it("is read or fails with a reason, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (value) => {
          expect(refusalOf(value)).toBeTypeOf("string");
        },
      ),
    );
  });
});
