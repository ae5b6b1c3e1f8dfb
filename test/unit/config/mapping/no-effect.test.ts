import { expect, it } from "vitest";
import { GOOD_SECRET, read } from "../hooks-context.ts";

const warningsOf = (block: object): readonly string[] => read(block).warnings;
const LITERAL = "takes no placeholders, and is used as it is written; write one that is the same for all calls";
const mapping = { match: { path: "in" }, messageTemplate: "m" };
const one = { channel: "console", to: "{{author}}" };

it("a placeholder where none is replaced is warned of", () => {
  const rights = { unknown: { ...one }, trusted: { ...one, to: "owner" } };
  const sender = { preset: "github", secret: GOOD_SECRET, match: { path: "gh" }, rights };
  const block = {
    mappings: [{ ...mapping, fallback: one }, sender],
    notices: one,
    defaultSessionKey: "hook:{{source}}",
  };
  expect(warningsOf(block).toSorted()).toEqual([
    `hooks.defaultSessionKey: ${LITERAL}`,
    `hooks.mappings[0].fallback.to: ${LITERAL}`,
    `hooks.mappings[1].rights.unknown.to: ${LITERAL}`,
    `hooks.notices.to: ${LITERAL}`,
  ]);
});

it("what only a sender with an auth of its own has is warned of beside the hook token", () => {
  const handshakes = [{ name: "check", verified: false, method: "GET", reply: { status: 200 } }];
  const keys = { handshakes, methods: ["PUT"] };
  expect(warningsOf({ mappings: [{ ...mapping, ...keys }] })).toEqual([
    "hooks.mappings[0].handshakes: has no effect without auth, with the hook token",
    "hooks.mappings[0].methods: has no effect without auth, with the hook token",
  ]);
  const auth = { scheme: "secret", secret: GOOD_SECRET };
  expect(warningsOf({ mappings: [{ ...mapping, ...keys, auth }] })).toEqual([]);
});

it.each([
  ["/hooks/in", ["hooks.mappings[0].match.path: begins with hooks.path, which comes before it: /hooks/hooks/in"]],
  ["hooks", ["hooks.mappings[0].match.path: begins with hooks.path, which comes before it: /hooks/hooks"]],
  ["hooks-of-us/in", []],
])("of the path %s, what follows hooks.path once more is warned of", (path, warnings) => {
  expect(warningsOf({ mappings: [{ ...mapping, match: { path } }] })).toEqual(warnings);
});

it("a header that is read by capitals is warned of, since names are in lower case", () => {
  const capitals = "reads a header by capitals, and so nothing: write its name in lower case";
  const keys = {
    when: 'headers["X-Kind"] == "a" && payload.Kind == "A"',
    coalesce: { key: "{{headers.X-Order}}", windowSeconds: 10 },
    messageTemplate: "{{Headers.x}} {{headers.x-kind}} {{payload.Kind}}",
  };
  expect(warningsOf({ mappings: [{ ...mapping, ...keys }] })).toEqual([
    `hooks.mappings[0].coalesce.key: ${capitals}`,
    `hooks.mappings[0].when: ${capitals}`,
  ]);
  expect(warningsOf({ mappings: [{ ...mapping, when: 'headers["x-kind"] == "A"' }] })).toEqual([]);
});
