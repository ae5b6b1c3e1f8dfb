import { describe, expect, it } from "vitest";
import { requestViewOf } from "../../../../src/auth/request-view.ts";
import { compileCandidates } from "../../../../src/auth/signatures/candidates.ts";
import type { IncomingRequest } from "../../../../src/auth/verifier.ts";
import { callOf } from "./scheme-bench.ts";

type Options = Partial<Parameters<typeof compileCandidates>[0]>;

/** What is found in the header `sig`; a text is the reason why nothing is. */
function find(header: string | undefined, options: Options = {}, changes: Partial<IncomingRequest> = {}) {
  const call = callOf({ headers: header === undefined ? {} : { sig: header }, ...changes, body: "{}" });
  const auth = { from: ["header:Sig"], prefix: "", separator: undefined, pair: undefined, ...options };
  const found = compileCandidates(auth)(call, requestViewOf(call));
  return typeof found === "string" ? found : { texts: found.texts, pairs: Object.fromEntries(found.pairs) };
}

const texts = (...values: string[]) => ({ texts: values, pairs: {} });

describe("a single signature", () => {
  it("is what stands behind the prefix", () => {
    expect(find("sha256=abc", { prefix: "sha256=" })).toEqual(texts("abc"));
    expect(find("abc")).toEqual(texts("abc"));
  });

  it.each(["SHA256=abc", " sha256=abc", "abc", ""])("is not in %j, where the prefix is another", (header) => {
    expect(find(header, { prefix: "sha256=" })).toEqual(texts());
  });

  it("is not taken apart", () => {
    expect(find("a, b c")).toEqual(texts("a, b c"));
  });

  it("may be in any of several places", () => {
    const from = ["header:sig-1", "header:sig", "query:sig"];
    expect(find("b", { from })).toEqual(texts("b"));
    expect(find("b", { from }, { headers: { sig: "b", "sig-1": "a" }, target: "/x?sig=c" })).toEqual(
      texts("a", "b", "c"),
    );
  });

  it("may be the last segment of the path", () => {
    expect(find(undefined, { from: ["path"] }, { pathSecret: "abc" })).toEqual(texts("abc"));
    expect(find(undefined, { from: ["path"] })).toBe("path is missing");
  });

  it("is missing where the call carries an older version of it, which the reason names", () => {
    const from = ["header:X-Sig-v3"];
    const older = (headers: Record<string, string>): unknown => find(undefined, { from }, { headers });
    const missing = "header X-Sig-v3 is missing";
    expect(older({ "x-sig": "a", "x-sig-version": "v2" })).toBe(
      `${missing}; the call carries X-Sig (v2), an older signature`,
    );
    expect(older({ "x-sig": "a", "x-sig-version": "v2; forged" })).toBe(
      `${missing}; the call carries X-Sig, an older signature`,
    );
    expect(older({})).toBe(missing);
  });

  it("is missing where it is in none of the places", () => {
    expect(find(undefined)).toBe("header Sig is missing");
    expect(find(undefined, { from: ["header:a", "body:b.c"] })).toBe("all of header a, body b.c are missing");
  });

  it("is not looked for in more than 8,192 characters", () => {
    expect(find("a".repeat(8_192))).toEqual(texts("a".repeat(8_192)));
    expect(find("a".repeat(8_193))).toBe("the signature is too long");
  });

  it("is what Node joined of repeated headers, which is no signature", () => {
    expect(find(undefined, {}, { headers: { sig: ["a", "b"] } })).toEqual(texts("a, b"));
  });
});

describe("signatures in a list", () => {
  const list: Options = { prefix: "v1,", separator: " " };

  it("are those behind the prefix", () => {
    expect(find("v1,a v1a,b v2,c v1,d", list)).toEqual(texts("a", "d"));
  });

  it("may have blanks around them", () => {
    expect(find("v1=a, v1=b ,v1=c", { prefix: "v1=", separator: "," })).toEqual(texts("a", "b", "c"));
  });

  it.each(["", " ", "v1", "v1,", "v1 v1,", "V1,a"])("are none in %j", (header) => {
    expect(find(header, list)).toEqual(texts());
  });

  it("are at most 16", () => {
    expect(find("v1,a ".repeat(16).trim(), list)).toEqual(texts(...Array.from({ length: 16 }, () => "a")));
    expect(find("v1,a ".repeat(17).trim(), list)).toBe("too many signatures");
  });

  it("fill at most 64 entries", () => {
    expect(find(`${"x ".repeat(63)}v1,a`, list)).toEqual(texts("a"));
    expect(find(`${"x ".repeat(64)}v1,a`, list)).toBe("too many signatures");
  });

  it("of several places are counted together", () => {
    const from = ["header:a", "header:b"];
    const headers = { a: "v1,a ".repeat(9).trim(), b: "v1,b ".repeat(8).trim() };
    expect(find(undefined, { ...list, from }, { headers })).toBe("too many signatures");
  });
});

describe("signatures in pairs", () => {
  const pairs: Options = { pair: "v1", separator: "," };
  const found = (values: string[], others: Record<string, string | undefined>) => ({ texts: values, pairs: others });

  it("are the values of one key, beside those of others", () => {
    expect(find("t=1,v1=a,v0=b,v1=c", pairs)).toEqual(found(["a", "c"], { t: "1", v0: "b" }));
  });

  it("are separated by a comma when nothing else is said", () => {
    expect(find("t=1,v1=a", { pair: "v1" })).toEqual(found(["a"], { t: "1" }));
  });

  it("may be separated by something else", () => {
    expect(find("ts=1;h1=a", { pair: "h1", separator: ";" })).toEqual(found(["a"], { ts: "1" }));
    expect(find("t=1 v1=a", { pair: "v1", separator: " " })).toEqual(found(["a"], { t: "1" }));
  });

  it("may have blanks around them, and values with an equals sign", () => {
    expect(find("t=1 , v1=a", pairs)).toEqual(found(["a"], { t: "1" }));
    expect(find("t=1, t=1, v1=a", pairs)).toEqual(found(["a"], { t: undefined }));
    expect(find("t=1, v1=a== ,x=", pairs)).toEqual(found(["a=="], { t: "1", x: "" }));
  });

  it("stand behind the prefix of the whole header", () => {
    expect(find("HMAC t=1,v1=a", { ...pairs, prefix: "HMAC " })).toEqual(found(["a"], { t: "1" }));
    expect(find("sig:t=1,v1=a", { ...pairs, prefix: "sig:" })).toEqual(found(["a"], { t: "1" }));
    expect(find("t=1,v1=a", { ...pairs, prefix: "HMAC " })).toEqual(found([], {}));
  });

  it("have keys whose case matters", () => {
    expect(find("T=1,V1=a", pairs)).toEqual(found([], { T: "1", V1: "a" }));
  });

  it("leave out what is no pair", () => {
    expect(find("t,=,v1,v1=a", pairs)).toEqual(found(["a"], { "": "" }));
  });

  it("leave other keys ambiguous that are there twice, even with one value", () => {
    expect(find("t=1,v1=a,t=2", pairs)).toEqual(found(["a"], { t: undefined }));
    expect(find("t=1,v1=a,t=1", pairs)).toEqual(found(["a"], { t: undefined }));
    expect(find("t=1,t=1,t=1,v1=a", pairs)).toEqual(found(["a"], { t: undefined }));
  });

  it("may come as two lists while a secret is rotated, if those agree", () => {
    expect(find("t=1,v1=a t=1,v1=b", pairs)).toEqual(found(["a", "b"], { t: "1" }));
    expect(find("t=1,v1=a \t t=1,v1=b", pairs)).toEqual(found(["a", "b"], { t: "1" }));
    expect(find("t=1,v1=a t=2,v1=b", pairs)).toEqual(found(["a", "b"], { t: undefined }));
    expect(find("t=1,v1=a t=2,v1=b t=1,v1=c", pairs)).toEqual(found(["a", "b", "c"], { t: undefined }));
    expect(find("t=1,v1=a t=1,t=1,v1=b", pairs)).toEqual(found(["a", "b"], { t: undefined }));
  });

  it("are at most 16, in at most 64 entries", () => {
    expect(find("v1=a,".repeat(16), pairs)).toMatchObject({ texts: { length: 16 } });
    expect(find("v1=a,".repeat(17), pairs)).toBe("too many signatures");
    expect(find("x=a,".repeat(63), pairs)).toMatchObject({ texts: [] });
    expect(find("x=a,".repeat(64), pairs)).toBe("too many signatures");
  });

  it("are data, whatever their keys are called", () => {
    expect(find("__proto__=1,v1=a", pairs)).toMatchObject({ texts: ["a"] });
  });
});
