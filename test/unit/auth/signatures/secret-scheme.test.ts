import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileSecret } from "../../../../src/auth/signatures/secret-scheme.ts";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import type { IncomingRequest } from "../../../../src/auth/verifier.ts";
import { callOf, outcome, verifierOf, verify } from "./scheme-bench.ts";

type Changes = Parameters<typeof callOf>[0];

const secretOf = (input: AuthInput) => verifierOf({ scheme: "secret", secret: "open sesame", ...input });
const check = (input: AuthInput, call: Changes) => outcome(verify(secretOf(input), callOf(call)));
const header = (value: string): Changes => ({ headers: { authorization: value } });

describe("a secret in a header", () => {
  it("is behind Bearer when nothing is said of its place, in any case", () => {
    expect(check({}, header("Bearer open sesame"))).toBe(true);
    expect(check({}, header("bEARER open sesame"))).toBe(true);
  });

  it.each([
    "open sesame",
    "Bearer",
    "Bearer ",
    "Bearer  open sesame",
    "Basic open sesame",
    "Bearer open sesam",
    "Bearer open sesames",
    "Bearer Open sesame",
  ])("is not in %j", (value) => {
    expect(check({}, header(value))).toBe("no secret matches");
  });

  it("stands behind another prefix exactly", () => {
    const input: AuthInput = { from: "header:X-Key", prefix: "key=" };
    expect(check(input, { headers: { "x-key": "key=open sesame" } })).toBe(true);
    expect(check(input, { headers: { "x-key": "KEY=open sesame" } })).toBe("no secret matches");
    expect(check({ ...input, prefix: "" }, { headers: { "x-key": "open sesame" } })).toBe(true);
  });

  it("is case-sensitive behind a prefix that only ends like a scheme of HTTP", () => {
    const input: AuthInput = { from: "header:x-key", prefix: "a b " };
    expect(check(input, { headers: { "x-key": "a b open sesame" } })).toBe(true);
    expect(check(input, { headers: { "x-key": "A b open sesame" } })).toBe("no secret matches");
  });

  it("may be any text, whose bytes Node hands over one by one", () => {
    const text = fc.string({ minLength: 1, unit: "grapheme" });
    fc.assert(
      fc.property(text, text, (secret, other) => {
        const sent = (value: string): Changes => ({ headers: { "x-key": Buffer.from(value).toString("latin1") } });
        expect(check({ from: "header:x-key", secret }, sent(secret))).toBe(true);
        fc.pre(Buffer.compare(Buffer.from(secret), Buffer.from(other)) !== 0);
        expect(check({ from: "header:x-key", secret }, sent(other))).toBe("no secret matches");
      }),
    );
  });

  it("says that it is missing", () => {
    expect(check({}, {})).toBe("header authorization is missing");
    expect(check({ from: ["header:a", "query:b"] }, {})).toBe("header a, query b are missing");
  });
});

describe("a secret elsewhere", () => {
  it.each<[AuthInput["from"], Changes]>([
    ["query:key", { target: "/hooks/x?key=open+sesame" }],
    ["body:auth.key", { body: '{"auth":{"key":"open sesame"}}' }],
    ["path", { pathSecret: "open sesame" }],
    [["header:a", "path"], { pathSecret: "open sesame" }],
    [["header:a", "header:b"], { headers: { a: "wrong", b: "open sesame" } }],
    [["header:a", "header:b"], { headers: { a: "open sesame", b: "wrong" } }],
    ["body:items[].key", { body: '{"items":[{"key":"open sesame"},{"key":"open sesame"}]}' }],
    ["body:[].key", { body: '[{"key":"open sesame"}]' }],
  ])("is taken from %j", (from, call) => {
    expect(check({ from }, call)).toBe(true);
  });

  it("may be a text that is no ASCII", () => {
    expect(check({ from: "path", secret: "schlüssel" }, { pathSecret: "schlüssel" })).toBe(true);
    expect(check({ from: "body:k", secret: "schlüssel" }, { body: '{"k":"schlüssel"}' })).toBe(true);
  });

  it.each<[string, string, string]>([
    ["body:items[].key", '{"items":[{"key":"open sesame"},{"key":"wrong"}]}', "no secret matches"],
    ["body:items[].key", '{"items":[{"key":"wrong"},{"key":"open sesame"}]}', "no secret matches"],
    ["body:items[].key", '{"items":[{"key":"open sesame"},{}]}', "body items[].key is missing"],
    ["body:items[].key", '{"items":[]}', "body items[].key is missing"],
    ["body:items[].key", '{"items":{"key":"open sesame"}}', "body items[].key is missing"],
    ["body:key", '{"key":["open sesame"]}', "body key is missing"],
    ["body:key", '{"key":""}', "no secret matches"],
    ["body:key", "open sesame", "body key is missing"],
    ["path", "{}", "path is missing"],
  ])("at %s of %s is refused", (from, body, reason) => {
    expect(check({ from }, { body })).toBe(reason);
  });
});

describe("several secrets", () => {
  const rotated: AuthInput = { from: ["header:a"], secret: ["old secret", "new secret"] };
  const idOf = (input: AuthInput, a: string, route = "sender") => {
    const verified = verifierOf({ scheme: "secret", ...input }, { route }).verify(callOf({ headers: { a } }));
    return "ok" in verified && verified.ok ? verified.credentialId : undefined;
  };

  it("are all accepted, each under an id of its own", () => {
    const ids = [idOf(rotated, "old secret"), idOf(rotated, "new secret")];
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(ids[0]).not.toBe(ids[1]);
    expect(idOf(rotated, "other secret")).toBeUndefined();
  });

  it("have the same id at any position in the list, and another one on another route", () => {
    expect(idOf(rotated, "new secret")).toBe(idOf({ ...rotated, secret: "new secret" }, "new secret"));
    expect(idOf(rotated, "new secret", "other")).not.toBe(idOf(rotated, "new secret"));
  });

  it("may be mixed in one body", () => {
    const input: AuthInput = { from: "body:items[].key", secret: ["old", "new"] };
    expect(check(input, { body: '{"items":[{"key":"old"},{"key":"new"}]}' })).toBe(true);
  });

  it("leave no replay key to recognize a copy by", () => {
    const call: IncomingRequest = callOf({ headers: { a: "old secret" } });
    expect(verifierOf({ scheme: "secret", ...rotated }).verify(call)).not.toHaveProperty("replay");
  });
});

describe("a scheme that could verify nothing, or anything", () => {
  const compile = (secrets: string[], from: string[]) => () =>
    compileSecret({ scheme: "secret", secrets, from, prefix: "" }, { route: "sender" });

  it("is refused", () => {
    expect(compile([], ["path"])).toThrow(new TypeError("auth.secret is missing."));
    expect(compile([""], ["path"])).toThrow(new TypeError("auth.secret must not be empty."));
    expect(compile(["a secret"], [])).toThrow(new TypeError("auth.from is missing: it says where the secret stands."));
  });
});
