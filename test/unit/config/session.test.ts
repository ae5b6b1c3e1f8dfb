import { describe, expect, it } from "vitest";
import { read, refusalsOf } from "./hooks-context.ts";

const templated = { match: { path: "a" }, messageTemplate: "m", sessionKey: "hook:{{id}}" };
const NEEDS_PREFIXES =
  'hooks.allowedSessionKeyPrefixes: is required since the sessionKey of hooks.mappings[0] is a template; set it, for example to ["hook:"]';

describe("rules for session keys", () => {
  it("trims prefixes, folds their case and drops blank and repeated ones", () => {
    const { config } = read({ allowedSessionKeyPrefixes: [" Hook: ", "hook:", "", " ", "ci:"] });
    expect(config.allowedSessionKeyPrefixes).toEqual(["hook:", "ci:"]);
  });

  it("spec 2.1: no prefix means no restriction", () => {
    expect(read({}).config.allowedSessionKeyPrefixes).toEqual([]);
    expect(read({ allowedSessionKeyPrefixes: [] }).config.allowedSessionKeyPrefixes).toEqual([]);
    expect(read({ allowedSessionKeyPrefixes: [" "] }).config.allowedSessionKeyPrefixes).toEqual([]);
  });

  it("takes a default key that begins with a prefix, whatever its case, trimmed", () => {
    const { config } = read({ defaultSessionKey: " CI:nightly ", allowedSessionKeyPrefixes: ["ci:"] });
    expect(config.defaultSessionKey).toBe("CI:nightly");
    expect(read({ defaultSessionKey: " " }).config.defaultSessionKey).toBeUndefined();
  });

  it("refuses a default key that begins with no prefix", () => {
    expect(refusalsOf({ defaultSessionKey: "x:y", allowedSessionKeyPrefixes: ["hook:"] })).toEqual([
      "hooks.defaultSessionKey: must begin with one of hooks.allowedSessionKeyPrefixes",
    ]);
  });

  it("refuses prefixes without hook: when there is no default key, since generated keys begin with it", () => {
    const line =
      'hooks.allowedSessionKeyPrefixes: must include "hook:" when hooks.defaultSessionKey is not set, since generated keys begin with it';
    expect(refusalsOf({ allowedSessionKeyPrefixes: ["ci:"] })).toEqual([line]);
    expect(refusalsOf({ allowedSessionKeyPrefixes: ["ci:"], defaultSessionKey: " " })).toEqual([line]);
    expect(refusalsOf({ allowedSessionKeyPrefixes: ["hook:mail:"] })).toEqual([line]);
    expect(refusalsOf({ allowedSessionKeyPrefixes: ["ci:", "Hook"] })).toEqual([]);
    expect(refusalsOf({ allowedSessionKeyPrefixes: ["ci:"], defaultSessionKey: "ci:x" })).toEqual([]);
  });

  it.each([
    ["a\nb", "must not hold control characters"],
    ["a\u200bb", "must not hold control characters"],
    ["a\ud800b", "must not hold control characters"],
    ["agent:main: ", "must name a session, and not an agent alone"],
    ["k".repeat(513), "has more than 512 characters"],
  ])("refuses the key %j, as a default and in a mapping", (key, message) => {
    expect(refusalsOf({ defaultSessionKey: key })).toEqual([`hooks.defaultSessionKey: ${message}`]);
    expect(refusalsOf({ mappings: [{ messageTemplate: "m", sessionKey: key }] })).toEqual([
      `hooks.mappings[0].sessionKey: ${message}`,
    ]);
  });

  it("takes a key of 512 characters", () => {
    expect(refusalsOf({ defaultSessionKey: "k".repeat(512) })).toEqual([]);
  });

  it("refuses a templated key of an effective mapping when there are no prefixes, whatever callers may choose", () => {
    expect(refusalsOf({ mappings: [templated] })).toEqual([NEEDS_PREFIXES]);
    expect(refusalsOf({ mappings: [templated], allowRequestSessionKey: true })).toEqual([NEEDS_PREFIXES]);
    expect(refusalsOf({ mappings: [{ ...templated, action: "wake", textTemplate: "t" }] })).toEqual([NEEDS_PREFIXES]);
    expect(refusalsOf({ mappings: [templated], allowedSessionKeyPrefixes: ["hook:"] })).toEqual([]);
  });

  it("has nothing against a templated key that never takes effect", () => {
    const fixed = { messageTemplate: "m" };
    expect(refusalsOf({ mappings: [{ ...fixed, match: { path: "/a/" } }, templated] })).toEqual([]);
    expect(refusalsOf({ mappings: [fixed, templated] })).toEqual([]);
    expect(refusalsOf({ mappings: [{ ...templated, sessionKey: "hook:fixed" }] })).toEqual([]);
  });

  it("names the first templated key that takes effect", () => {
    const mappings = [
      { messageTemplate: "m", match: { path: "a" } },
      templated,
      { ...templated, match: { path: "b" } },
    ];
    expect(refusalsOf({ mappings })).toEqual([NEEDS_PREFIXES.replace("[0]", "[2]")]);
  });

  it("needs no prefixes for the gmail preset, whose keys cannot leave their name space", () => {
    expect(refusalsOf({ presets: ["gmail"] })).toEqual([]);
  });

  it("says nothing of keys against prefixes while one of the two is malformed", () => {
    expect(refusalsOf({ defaultSessionKey: "x", allowedSessionKeyPrefixes: "hook:", mappings: [templated] })).toEqual([
      'hooks.allowedSessionKeyPrefixes: "hook:" is not a list of prefixes',
    ]);
    expect(refusalsOf({ defaultSessionKey: 5, allowedSessionKeyPrefixes: ["ci:"] })).toEqual([
      "hooks.defaultSessionKey: 5 is not a string",
    ]);
  });

  it("warns of a conversation whose runs have no session key in common", () => {
    const mapping = { messageTemplate: "m", sessionMode: "persistent" };
    expect(read({ mappings: [mapping] }).warnings).toEqual([
      "hooks.mappings[0].sessionMode: has no effect without a sessionKey: each run then has a session of its own",
    ]);
    expect(read({ mappings: [{ ...mapping, sessionKey: "hook:a" }] }).warnings).toEqual([]);
    expect(read({ defaultSessionKey: "hook:a", mappings: [mapping] }).warnings).toEqual([]);
  });

  it("warns of a mapping's key that every call is refused for", () => {
    const settings = { allowedSessionKeyPrefixes: ["hook:"] };
    expect(read({ ...settings, mappings: [templated] }).warnings).toEqual([
      "hooks.mappings[0].sessionKey: is a template, so it counts as a key from the caller: calls are answered 400 until hooks.allowRequestSessionKey is true",
    ]);
    expect(read({ ...settings, mappings: [{ ...templated, sessionKey: "main" }] }).warnings).toEqual([
      "hooks.mappings[0].sessionKey: does not begin with one of hooks.allowedSessionKeyPrefixes: calls that use it are answered 400",
    ]);
    const allowed = { ...settings, allowRequestSessionKey: true, mappings: [templated] };
    expect(read(allowed).warnings).toEqual([]);
  });
});
