import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PayloadContext } from "../../../src/delivery.ts";
import { compileCondition } from "../../../src/mapping/condition.ts";
import { requestWith } from "./mappings.ts";

/** As a request's are: without a prototype. */
const bare = (entries: Record<string, string>): Record<string, string> =>
  Object.assign(Object.create(null) as Record<string, string>, entries);
const PULL = {
  action: "closed",
  count: 3,
  half: 0.5,
  merged: true,
  note: null,
  labels: [{ name: "bug", weight: 2 }, { name: "ops" }],
};
const given = (payload: unknown, changes: Partial<PayloadContext> = {}): PayloadContext =>
  requestWith(payload, { headers: bare({ "x-event": "push" }), query: bare({ debug: "1" }), ...changes });
const missOf = (when: string, payload: unknown = PULL, changes?: Partial<PayloadContext>): string | undefined =>
  compileCondition(when).miss(given(payload, changes));

describe("a condition", () => {
  it.each([
    "payload.action == 'closed'",
    "payload.action != 'opened' && payload.merged",
    "payload.count > 3 || payload.count == 3",
    "payload.count >= 3 && payload.count < 3.5",
    "payload.count in [1, 2, 3]",
    "payload.note == null",
    "has(payload.note) && !has(payload.missing)",
    "'note' in payload && !('missing' in payload)",
    "headers['x-event'] == 'push' && query.debug == '1'",
    "payload.labels.exists(label, label.name == 'bug')",
    "payload.labels.all(label, size(label.name) == 3)",
    "payload.labels.filter(label, label.name != 'ops').size() == 1",
    "payload.labels.map(label, label.name) == ['bug', 'ops']",
    "payload.labels.exists_one(label, label.name == 'ops')",
    "payload.labels[0].weight == 2 && size(payload.labels) == 2",
    "payload.labels == payload.labels && payload.labels != []",
    "payload.labels[payload.count - 3].name == 'bug'",
    "payload.exists(key, key == 'count')",
    "payload.action.matches('^clo.ed$') && payload.action.startsWith('clo') && payload.action.contains('ose')",
    "payload.merged ? payload.count == 3 : false",
    "type(payload.count) == double && type(payload.labels) == list",
    "payload.missing == 1 || payload.merged",
    "timestamp('2026-02-03T04:05:06Z').getHours('Europe/Berlin') == 5",
    "{'a': 1}.a == 1 && [1, 2] + [3] == [1, 2, 3]",
    "event == '' && sender.name == '' && sender.id == '' && !sender.bot",
  ])("%s is met", (when) => {
    expect(missOf(when)).toBeUndefined();
  });

  it.each([
    ["payload.action == 'opened'", "when: payload.action == 'opened' is false; payload.action = \"closed\""],
    ["payload.count > 3", "when: payload.count > 3 is false; payload.count = 3"],
    ["payload.note != null", "when: payload.note != null is false; payload.note = null"],
    [
      "payload.labels.all(l, l.name == 'ops')",
      "when: payload.labels.all(l, l.name == 'ops') is false; payload.labels = a list of 2",
    ],
    ["payload == headers", "when: payload == headers is false; payload = an object, headers = an object"],
    ["headers['x-event'] == 'pull'", "when: headers['x-event'] == 'pull' is false; headers[\"x-event\"] = \"push\""],
    ["false", "when: false is false"],
    ["payload.count\n  > 3", "when: payload.count > 3 is false; payload.count = 3"],
    [
      "payload.draft == false",
      "when: payload.draft == false cannot be told: field not found: draft; payload.draft is missing",
    ],
    [
      "payload.labels[2].name == 'a'",
      "when: payload.labels[2].name == 'a' cannot be told: index 2 is out of bounds; payload.labels[2].name is missing",
    ],
    [
      "payload.action > 3",
      "when: payload.action > 3 cannot be told: found no matching overload for '_>_' applied to '(string, int)'; payload.action = \"closed\"",
    ],
    ["payload.action", 'when: payload.action is neither true nor false but a text; payload.action = "closed"'],
    ["payload.count", "when: payload.count is neither true nor false but a number; payload.count = 3"],
    ["payload.labels", "when: payload.labels is neither true nor false but a list; payload.labels = a list of 2"],
    ["sender", "when: sender is neither true nor false but an object; sender = an object"],
    ["payload.note", "when: payload.note is neither true nor false but null; payload.note = null"],
    ["type(payload)", "when: type(payload) is neither true nor false but something else; payload = an object"],
    [
      "size(payload.labels)",
      "when: size(payload.labels) is neither true nor false but a number; payload.labels = a list of 2",
    ],
  ])("%s is a miss that says what it saw", (when, reason) => {
    expect(missOf(when)).toBe(reason);
  });

  it("reads numbers as people write them, whole or not", () => {
    for (const when of [
      "payload.count + 1 == 4",
      "1 + payload.count == 4.0",
      "payload.count - payload.half == 2.5",
      "payload.count * 2 > 5",
      "payload.count / 2 == 1.5",
      "payload.count % 2 == 1",
      "10 % payload.count == 1",
      "payload.half * 2.0 == 1",
      "int(payload.count) % 2 == 1",
    ]) {
      expect([when, missOf(when)]).toEqual([when, undefined]);
    }
  });

  it("knows the event and who caused it, where a preset does", () => {
    const sender = { name: "octocat", bot: true };
    expect(missOf("event.startsWith('push') && sender.bot", {}, { event: "push.tag", sender })).toBeUndefined();
    expect(missOf("sender.id == '7'", {}, { sender: { ...sender, id: "7" } })).toBeUndefined();
    expect(missOf("sender.id == '7'", {}, { sender })).toBe("when: sender.id == '7' is false; sender.id = \"\"");
  });

  it("sees only what the payload itself holds, whatever its names", () => {
    const hostile = JSON.parse(
      '{"constructor":{"x":1},"$typeName":"google.protobuf.Struct","__proto__":{"b":2},"hasOwnProperty":1,"list":[{"constructor":5}]}',
    ) as unknown;
    for (const when of [
      "payload.constructor.x == 1",
      "payload['$typeName'] == 'google.protobuf.Struct'",
      "payload['__proto__'].b == 2",
      "payload.hasOwnProperty == 1",
      "payload.list[0].constructor == 5",
      "size(payload) == 5",
    ]) {
      expect([when, missOf(when, hostile)]).toEqual([when, undefined]);
    }
    for (const path of ["payload.toString", "headers.constructor", "payload.list.length", "query['__proto__']"]) {
      expect(missOf(`${path} != null`, { list: [1] })).toMatch(/cannot be told: .*; .* is missing$/);
    }
  });

  it("takes what is no JSON data for null, and never throws", () => {
    const broken = Object.defineProperty({}, "a", {
      enumerable: true,
      get: () => {
        throw new Error("not data");
      },
    });
    expect(missOf("payload.a == 1", broken)).toMatch(/^when: payload\.a == 1 cannot be told: not data/);
    expect(missOf("payload.a == null && payload.b == 5", { a: () => 1, b: 5n })).toBeUndefined();
    expect(compileCondition("payload == null").miss(given(undefined))).toBeUndefined();
    expect(missOf("payload == 'text'", "text")).toBeUndefined();
  });

  it("cuts what it shows, and shows it on one line", () => {
    const long = missOf(`payload.a == '${"x".repeat(500)}'`, { a: `line\n${"y".repeat(500)}` })!;
    expect(long).toMatch(/^when: payload\.a == 'x+\.\.\. is false; payload\.a = "line y+\.\.\."$/);
    expect(long.length).toBeLessThan(400);
    const many = Array.from({ length: 9 }, (_, at) => `payload.k${at} == 0`).join(" || ");
    expect(missOf(many, { k0: 1 })).toMatch(/payload\.k0 = 1, .*payload\.k4 is missing \.\.\.$/);
    const deep = `payload.${"k".repeat(300)} == 0`;
    expect(missOf(deep)!.length).toBeLessThan(600);
  });

  it("leaves the traces of other errors as they were", () => {
    const before = Error.stackTraceLimit;
    try {
      Error.stackTraceLimit = 7;
      missOf("payload.missing == 1");
      expect(Error.stackTraceLimit).toBe(7);
    } finally {
      Error.stackTraceLimit = before;
    }
  });

  it("compiles nothing that its syntax refuses", () => {
    expect(() => compileCondition("payload.a =")).toThrow("The condition is not a CEL expression");
  });

  it("agrees with JavaScript on comparisons of any JSON values", () => {
    const scalar = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    );
    const equal = compileCondition("payload.a == payload.b");
    fc.assert(
      fc.property(scalar, scalar, (a, b) => {
        expect(equal.miss(given({ a, b })) === undefined).toBe(a === b);
      }),
    );
    const same = compileCondition("payload.a == payload.b");
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const copy = JSON.parse(JSON.stringify(value)) as unknown;
        expect(same.miss(given({ a: copy, b: JSON.parse(JSON.stringify(value)) }))).toBeUndefined();
      }),
    );
  });

  it("has an answer for any payload", () => {
    const condition = compileCondition("payload.a.b[0].exists(i, i.c > payload.d) && payload.e.matches('x')");
    fc.assert(
      fc.property(fc.jsonValue(), (payload) => {
        const reason = condition.miss(given(payload));
        expect(reason === undefined || reason.startsWith("when: ")).toBe(true);
      }),
    );
  });
});

describe("the work of a condition", () => {
  const numbers = Array.from({ length: 20_000 }, (_, at) => at);
  const words = Array.from({ length: 2_000 }, () => "word");
  const text = "x".repeat(200_000);
  const big = { numbers, words, text, twin: numbers.slice() };

  it.each([
    "payload.numbers.exists(i, payload.numbers.exists(j, i == -1))",
    "payload.numbers.all(i, payload.numbers.all(j, true))",
    "payload.numbers.map(i, i).exists(i, i == -1)",
    "payload.words.exists(i, payload.text.matches('^.*(a|b)*y$'))",
    "payload.words.exists(i, payload.text.contains('y'))",
    "payload.words.exists(i, size(payload.text) == 0)",
    "payload.words.exists(i, payload.numbers != payload.twin)",
    "payload.words.exists(i, !(5 in payload.twin.filter(j, j > i)))",
    "payload.words.exists(i, payload.words.exists(j, i > 1 || j > 1))",
    "payload.words.exists(i, size(payload.numbers + payload.numbers) == 0)",
    "payload.numbers.exists(i, timestamp('2026-02-03T04:05:06Z').getHours('Europe/Berlin') == 30)",
  ])("%s ends when it has taken too much for a payload", (when) => {
    expect(missOf(when, big)).toMatch(/ cannot be told: takes too much work for this payload; /);
  });

  it("suffices for a pass over every item of a body of the default size", () => {
    expect(missOf("payload.numbers.exists(i, i == 19999)", big)).toBeUndefined();
    expect(missOf("size(payload.words.map(i, i)) == 2000", big)).toBeUndefined();
    expect(missOf("payload.text.matches('x+$')", big)).toBeUndefined();
  });

  it("is counted for each request anew", () => {
    const condition = compileCondition("payload.numbers.exists(i, i == 19999)");
    for (let round = 0; round < 6; round++) expect(condition.miss(given(big))).toBeUndefined();
  });

  it("does not read long texts as numbers or times", () => {
    expect(missOf("int(payload.text) == 1", { text: "1".repeat(101) })).toContain(
      "cannot be told: int() was given too long a text",
    );
    expect(missOf("int(payload.text) == 1", { text: "1" })).toBeUndefined();
  });
});
