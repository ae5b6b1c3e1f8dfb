import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCondition } from "../../../src/config/condition-syntax.ts";

function readsOf(source: string): unknown {
  const syntax = readCondition(source);
  return syntax.ok ? syntax.reads : syntax.problem;
}

describe("a condition as it is written", () => {
  it.each([
    ["payload.action == 'closed'", [["payload", "action"]]],
    ["has(payload.a.b)", [["payload", "a", "b"]]],
    ["payload.list[0]['a b'] == 1", [["payload", "list", 0, "a b"]]],
    [
      "headers['x-a'] == query.b && event == 'push' && !sender.bot",
      [["headers", "x-a"], ["query", "b"], ["event"], ["sender", "bot"]],
    ],
    ["payload.a == 1 || payload.a == 2", [["payload", "a"]]],
    ["payload[event] == 1", [["payload"], ["event"]]],
    [".payload.a", [["payload", "a"]]],
    [
      "payload.list.exists(i, i.a == payload.b)",
      [
        ["payload", "list"],
        ["payload", "b"],
      ],
    ],
    ["payload.list.all(payload, payload.a)", [["payload", "list"]]],
    [
      "{'a': payload.b, event: 1} == {} || payload.c in [1, payload.d]",
      [["payload", "b"], ["event"], ["payload", "c"], ["payload", "d"]],
    ],
    ["type(payload.a) == string || type(payload.a) == null_type", [["payload", "a"]]],
    ["payload.a.matches('^a.*b$')", [["payload", "a"]]],
    [
      "payload.a.exists(i, i.b.all(j, j > 0)) && payload.c.exists(k, k)",
      [
        ["payload", "a"],
        ["payload", "c"],
      ],
    ],
    ["true", []],
  ])("%s reads what it names", (source, reads) => {
    expect(readsOf(source)).toEqual(reads);
  });

  it.each([
    ["payload.a =", 'is not a CEL expression: "=" is not expected at line 1, column 11'],
    ["true &&\n  payload.a = 1", 'is not a CEL expression: "= 1" is not expected at line 2, column 13'],
    ["(payload.a", "is not a CEL expression: it ends too early, at line 1, column 11"],
    ["payload.a == 'b", expect.stringMatching(/^is not a CEL expression: .* at line 1, column \d+$/) as unknown],
    ["(".repeat(3_000), "is nested too deeply"],
    ["playload.a == 1", '"playload" is not known; known are payload, headers, query, event, actor'],
    ["request.path == 'a'", '"request" is not known; known are payload, headers, query, event, actor'],
    ["payload.a.exists(i, j.b)", '"j" is not known; known are payload, headers, query, event, actor'],
    ["payload.a.exists(i, i) && i", '"i" is not known; known are payload, headers, query, event, actor'],
    ["payload.a.lower() == 'b'", "has no function lower()"],
    ["now() > 1", "has no function now()"],
    ["google.protobuf.Struct{} == payload", "google.protobuf.Struct is not known"],
    ["payload.a.matches(payload.b)", "calls matches() with something else than a text in quotes"],
    ["payload.a.matches('(')", 'has a pattern that is not a regular expression (RE2): "("'],
    ["payload.a.matches('(?=a)')", 'has a pattern that is not a regular expression (RE2): "(?=a)"'],
    ["payload.a.all(i, i.all(j, j.all(k, k)))", "nests exists(), all(), map() and filter() more than 2 deep"],
  ])("refuses %s", (source, problem) => {
    expect(readsOf(source)).toEqual(problem);
  });

  it("says something of any text and never throws", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (source) => {
        const syntax = readCondition(source);
        if (!syntax.ok) expect(syntax.problem.length).toBeLessThan(300);
      }),
    );
  });
});
