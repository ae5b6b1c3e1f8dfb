import { describe, expect, it } from "vitest";
import {
  clip,
  itemLines,
  joinText,
  labeled,
  listAt,
  memberOf,
  messageOf,
  textAt,
  valueAt,
} from "../../../src/core/payload-text.ts";

const payload: unknown = JSON.parse(
  '{"issue":{"title":" Login fails ","number":7,"open":true,"body":" \\n","labels":["a","b"]},"__proto__":{"x":"y"},"a.b":1}',
);

describe("a value of a payload", () => {
  it.each<[string, unknown]>([
    ["issue.number", 7],
    ["issue.labels[1]", "b"],
    ["", payload],
    ["issue.nothing.more", undefined],
    ["__proto__.x", undefined],
    ["toString", undefined],
    ["constructor.name", undefined],
  ])("under %j", (path, value) => {
    expect(valueAt(payload, path)).toBe(value);
  });

  it("is found under a path that was never requested before, however many there were", () => {
    for (let at = 0; at < 5_000; at++) expect(valueAt({ [`key${at}`]: at }, `key${at}`)).toBe(at);
  });

  it("is a member under the very key that was asked for", () => {
    expect(memberOf(payload, "a.b")).toBe(1);
    expect(memberOf(payload, "toString")).toBeUndefined();
    expect(memberOf(null, "a")).toBeUndefined();
    expect(memberOf("text", "length")).toBeUndefined();
  });
});

describe("a text of a payload", () => {
  it.each<[readonly string[], string]>([
    [["issue.title"], "Login fails"],
    [["issue.number"], "7"],
    [["issue.open"], "true"],
    [["issue.body", "issue.nothing", "issue.title"], "Login fails"],
    [["issue"], ""],
    [["issue.labels"], ""],
    [[], ""],
  ])("under %j", (paths, text) => {
    expect(textAt(payload, ...paths)).toBe(text);
  });

  it("has at most 4,000 characters, and is no number that is none", () => {
    expect(textAt("x".repeat(10_000), "")).toHaveLength(4_000);
    expect(textAt(Number.NaN, "")).toBe("");
  });
});

describe("a list of a payload", () => {
  it("is empty when there is none", () => {
    expect(listAt(payload, "issue.labels")).toEqual(["a", "b"]);
    expect(listAt(payload, "issue")).toEqual([]);
  });

  it("has a line for each item, up to a limit", () => {
    expect(itemLines([1, 2, 3], String, 3)).toEqual(["1", "2", "3"]);
    expect(itemLines([1, 2, 3], String, 2)).toEqual(["1", "2", "... and 1 more"]);
  });
});

describe("words", () => {
  it("are cut between characters, never within one", () => {
    expect(clip("abc", 3)).toBe("abc");
    expect(clip("abcd", 3)).toBe("ab…");
    expect(clip("a\u{1F600}b", 3)).toBe("a…");
  });

  it("are joined without the empty ones", () => {
    expect(joinText(", ", "a", "", "b")).toBe("a, b");
    expect(joinText(", ")).toBe("");
  });

  it.each([
    ["Link", "x", "Link: x"],
    ["Link", "", ""],
    ["", "x", "x"],
  ])("have the label %j before %j", (label, text, line) => {
    expect(labeled(label, text)).toBe(line);
  });

  it("are a message of at most 20,000 characters without empty lines", () => {
    expect(messageOf("a", "", ["b", ""], [])).toBe("a\nb");
    expect(messageOf("x".repeat(30_000))).toHaveLength(20_000);
  });
});
