import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PayloadContext } from "../../../../src/core/delivery.ts";
import { compileCondition } from "../../../../src/mapping/condition/condition.ts";
import { requestWith } from "../mappings.ts";

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
      "when: payload.draft == false cannot be evaluated: field not found: draft; payload.draft is missing",
    ],
    [
      "payload.labels[2].name == 'a'",
      "when: payload.labels[2].name == 'a' cannot be evaluated: index 2 is out of bounds; payload.labels[2].name is missing",
    ],
    [
      "payload.action > 3",
      "when: payload.action > 3 cannot be evaluated: found no matching overload for '_>_' applied to '(string, int)'; payload.action = \"closed\"",
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
    expect(missOf("event.startsWith('push') && sender.bot", {}, { event: "push.tag", actor: sender })).toBeUndefined();
    expect(missOf("sender.id == '7'", {}, { actor: { ...sender, id: "7" } })).toBeUndefined();
    expect(missOf("sender.id == '7'", {}, { actor: sender })).toBe("when: sender.id == '7' is false; sender.id = \"\"");
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
      expect(missOf(`${path} != null`, { list: [1] })).toMatch(/cannot be evaluated: .*; .* is missing$/);
    }
  });

  it("takes what is no JSON data for null, and never throws", () => {
    const broken = Object.defineProperty({}, "a", {
      enumerable: true,
      get: () => {
        throw new Error("not data");
      },
    });
    const list = Object.defineProperty([], 0, Object.getOwnPropertyDescriptor(broken, "a")!);
    expect(missOf("event == ''", list)).toBe("when: event == '' cannot be evaluated: not data; event = \"\"");
    expect(missOf("payload.a == 1", broken)).toMatch(/^when: payload\.a == 1 cannot be evaluated: not data/);
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
    expect(missOf(when, big)).toMatch(/ cannot be evaluated: takes too much work for this payload; /);
  });

  const many = (count: number, part: string, joint: string): string => Array(count).fill(part).join(joint);
  const items = Array.from({ length: 60_000 }, () => 0);
  const like = { text: "a".repeat(160_000), part: `${"a".repeat(7)}b${"a".repeat(60_000)}`, items };

  it.each([
    ["a text that a part is like everywhere", "payload.text.contains(payload.part)"],
    ["a pattern with many repetitions", "payload.text.matches('a(a|b){900}[cd]$')"],
    ["a pattern that is long when it is written out", `'a'.matches('${"(a{1000})".repeat(20)}')`],
    ["fields that every item lacks", `payload.items.exists(i, ${many(200, "(i.x == 1)", "||")})`],
    ["a long list for each item", `payload.items.exists(i, [${many(1_500, "1", ",")}] == [])`],
    ["a map for each item", "payload.items.exists(i, {'a': 1, 'b': 2, 'c': 3} == {})"],
    ["a pass over a list of the expression", `payload.items.exists(i, [${many(800, "1", ",")}].exists(j, j == 2))`],
    ["one over a map of it", "payload.items.exists(i, {1: 1, 2: 1, 3: 1, 4: 1}.exists(j, j == 9))"],
    ["one that is chosen", `payload.items.exists(i, (i == 0 ? [${many(300, "1", ",")}] : []).exists(j, j == 2))`],
    ["one that is filtered", `payload.items.exists(i, [${many(300, "1", ",")}].filter(j, j == 1).size() == 0)`],
    ["operators", `payload.items.exists(i, ${many(300, "true", "&&")} && false)`],
    ["choices", `payload.items.exists(i, ${"(true?".repeat(200)}false${":true)".repeat(200)})`],
    ["types that do not fit", `payload.items.exists(i, ${many(10, "i < 'a'", "||")})`],
    ["times", "payload.items.exists(i, duration('1h') == duration('1s'))"],
    ["parts of times", "payload.items.exists(i, timestamp('2026-02-03T04:05:06Z').getHours() == 30)"],
    ["bytes", "[bytes(payload.text)].exists(b, payload.items.exists(i, b < b))"],
    ["long names", "payload.items.exists(i, payload[payload.text + 'x'] == 1)"],
    ["long texts in a list", "payload.items.exists(i, (payload.text + 'x') in [payload.text])"],
  ])("ends for %s", (_, when) => {
    expect(missOf(when, like)).toMatch(/ cannot be evaluated: takes too much work for this payload(?:; |$)/);
  });

  it("ends for a payload that is too large to be shown", () => {
    const lists = Array.from({ length: 90_000 }, () => []);
    expect(missOf("event == ''", lists)).toBe(
      "when: event == '' cannot be evaluated: takes too much work for this payload; event = \"\"",
    );
    const objects = Array.from({ length: 180_000 }, () => ({}));
    expect(missOf("event == ''", objects)).toContain("takes too much work");
    expect(missOf("event == ''", lists.slice(0, 20_000))).toBeUndefined();
  });

  it("is not taken for a property that is missing once it is too much", () => {
    const full = Array.from({ length: 45_000 }, () => ({ a: 1 }));
    const when = "payload.all(i, i.a == 1) && !has(payload[0].b)";
    expect(missOf(when, full.slice(0, 9_000))).toBeUndefined();
    expect(missOf(when, full)).toContain("cannot be evaluated: takes too much work for this payload");
  });

  it("is small for what conditions look like, with a body of the default size", () => {
    const commit = { id: "0123456789abcdef", message: "fix: a thing that was broken", author: { name: "ada" } };
    const push = { commits: Array.from({ length: 2_500 }, () => commit), ref: "refs/heads/main" };
    for (const when of [
      "payload.commits.exists(c, c.author.name == 'bob' || c.message.contains('[deploy]')) || true",
      "payload.commits.all(c, c.message.startsWith('fix') && has(c.id) && size(c.id) == 16)",
      "payload.commits.filter(c, c.author.name == 'ada').size() == 2500",
    ]) {
      const reason = missOf(when, push);
      expect([when, reason]).toEqual([when, undefined]);
    }
    expect(missOf("payload.commits.all(c, c.message.matches('^fix'))", { commits: push.commits.slice(0, 1_000) })).toBe(
      undefined,
    );
  });

  it("counts characters and not their halves", () => {
    expect(missOf("size(payload.a) == 3 && payload.a.size() == 3", { a: "a\u{1f600}b" })).toBeUndefined();
    expect(missOf("size(payload.a) == 1 && size(b'abc') == 3", { a: "\ud83d" })).toBeUndefined();
  });

  it("suffices for a pass over every item of a body of the default size", () => {
    expect(missOf("payload.numbers.exists(i, i == 19999)", big)).toBeUndefined();
    expect(missOf("size(payload.words.map(i, i)) == 2000", big)).toBeUndefined();
    expect(missOf("payload.text.matches('x+$')", big)).toBeUndefined();
  });

  it("is counted for each request separately", () => {
    const condition = compileCondition("payload.numbers.exists(i, i == 19999)");
    for (let round = 0; round < 6; round++) expect(condition.miss(given(big))).toBeUndefined();
  });

  it("does not read long texts as numbers or times", () => {
    expect(missOf("int(payload.text) == 1", { text: "1".repeat(101) })).toContain(
      "cannot be evaluated: int() was given too long a text",
    );
    expect(missOf("int(payload.text) == 1", { text: "1" })).toBeUndefined();
  });
});
