import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { requestViewOf } from "../../../../src/auth/request-view.ts";
import { compileBodyCoverage } from "../../../../src/auth/signatures/body-coverage.ts";
import { NO_PAIRS } from "../../../../src/auth/signatures/request-source.ts";
import { compileContent, joinContent } from "../../../../src/auth/signatures/signed-content.ts";
import type { SignatureAuth } from "../../../../src/config/auth/schema.ts";
import { callOf, PUBLIC_URL } from "./scheme-bench.ts";

type Auth = Partial<Parameters<typeof compileContent>[0]>;
type Changes = Parameters<typeof callOf>[0] & { readonly pairs?: [string, string | undefined][] };

const authFor = (content: string, auth: Auth = {}) => ({ content, id: undefined, timestamp: undefined, ...auth });

/** The bytes that are signed, or the reason why there are none. */
function bytesOf(
  content: string,
  { pairs, ...changes }: Changes = {},
  auth: Auth = {},
  publicUrl: string | undefined = PUBLIC_URL,
) {
  const call = callOf(changes);
  const input = { call, view: requestViewOf(call), pairs: pairs === undefined ? NO_PAIRS : new Map(pairs) };
  const parts = compileContent(authFor(content, auth), publicUrl).read(input);
  return typeof parts === "string" ? parts : Buffer.from(joinContent(parts, "the secret"));
}

const textOf = (...options: Parameters<typeof bytesOf>) => bytesOf(...options).toString();
const JSON_CALL: Changes = { body: '{"a":{"b":"x"},"n":5,"t":true,"z":null}' };

describe("content", () => {
  it("is the body itself, not a copy of it, when it is nothing else", () => {
    const body = Uint8Array.of(0, 255, 254);
    const call = callOf({ body });
    const parts = compileContent(authFor("{body}"), undefined).read({
      call,
      view: requestViewOf(call),
      pairs: NO_PAIRS,
    });
    expect(typeof parts === "string" ? parts : joinContent(parts, "")).toBe(body);
  });

  it("keeps the bytes of a body that is no text", () => {
    expect(bytesOf("v0:{body}!", { body: Uint8Array.of(0, 255, 254) })).toEqual(
      Buffer.concat([Buffer.from("v0:"), Buffer.of(0, 255, 254), Buffer.from("!")]),
    );
  });

  it.each<[string, Changes, string]>([
    ["{method} {path}", { method: "PUT", target: "/hooks/x%20y?z=/1" }, "PUT /hooks/x%20y"],
    ["{url}", { target: "/hooks/x?a=%3A" }, `${PUBLIC_URL}/hooks/x?a=%3A`],
    ["{decodedUrl}", { target: "/hooks/x?a=%3A%20" }, `${PUBLIC_URL}/hooks/x?a=:%20`],
    ["{crc32}", { body: "Hello" }, String(crc32("Hello"))],
    ["{sha256}", { body: "Hello" }, createHash("sha256").update("Hello").digest("hex")],
    ["{secret}:{secret}", {}, "the secret:the secret"],
    ["größe", {}, "größe"],
    ["{}{ body }{a-b}", {}, "{}{ body }{a-b}"],
    ["{header:X-A}|{header:x-a}", { headers: { "x-a": "1" } }, "1|1"],
    ["{query:a b}", { target: "/?a+b=1%2B2&c" }, "1+2"],
    ["{query:c}{body}", { target: "/?c", body: "" }, ""],
    ["{body:a.b}{body:n}{body:t}", JSON_CALL, "x5true"],
    [
      "{pair:t}.{pair:v}",
      {
        pairs: [
          ["t", "1"],
          ["v", ""],
        ],
      },
      "1.",
    ],
    ["{form}", { body: "b=2&a=1", headers: { "content-type": "application/x-www-form-urlencoded" } }, "a1b2"],
    ["{form}", { body: "b=2&a=1" }, ""],
  ])("%s is filled in", (content, changes, text) => {
    expect(textOf(content, changes)).toBe(text);
  });

  it("takes headers and the target as the bytes that were sent", () => {
    const sent = Buffer.from("größe").toString("latin1");
    expect(textOf("{header:a}", { headers: { a: sent } })).toBe("größe");
    expect(textOf("{pair:a}", { pairs: [["a", sent]] })).toBe("größe");
    expect(textOf("{path}", { target: `/${sent}` })).toBe("/größe");
    expect(textOf("{url}", { target: `/${sent}` })).toBe(`${PUBLIC_URL}/größe`);
    expect(textOf("{query:a}", { target: "/?a=gr%C3%B6%C3%9Fe" })).toBe("größe");
    expect(textOf("{body:a}", { body: '{"a":"größe"}' })).toBe("größe");
  });

  it("has the path that the sender sees", () => {
    expect(textOf("{path}", {}, {}, "https://x.example/base")).toBe("/base/hooks/sender");
    expect(textOf("{path}", {}, {}, "https://x.example/base/")).toBe("/base/hooks/sender");
    expect(compileContent(authFor("{path}"), undefined).hasUrl).toBe(false);
    const call = callOf();
    const parts = compileContent(authFor("{path}"), undefined).read({
      call,
      view: requestViewOf(call),
      pairs: NO_PAIRS,
    });
    expect(parts).toEqual(["/hooks/sender"]);
  });

  it("decodes the public URL, too, where the sender does", () => {
    expect(textOf("{decodedUrl}", { target: "/x" }, {}, "https://x.example/a%3Ab")).toBe("https://x.example/a:b/x");
    expect(textOf("{url}", { target: "/x" }, {}, "https://x.example/a%3Ab")).toBe("https://x.example/a%3Ab/x");
  });

  it.each<[string, Changes, string]>([
    ["{header:x-a}", {}, "header x-a is missing"],
    ["{query:a}", {}, "query a is missing"],
    ["{body:a.c}", JSON_CALL, "body a.c is missing"],
    ["{body:z}", JSON_CALL, "body z is missing"],
    ["{body:a}", JSON_CALL, "body a is missing"],
    ["{body:toString}", JSON_CALL, "body toString is missing"],
    ["{pair:t}", { pairs: [["v", "1"]] }, "pair t is missing"],
    ["{pair:t}", { pairs: [["t", undefined]] }, "pair t is missing"],
    ["{sns}", JSON_CALL, "the body is no signed message"],
    [
      "{form}",
      { body: "a&".repeat(1_001), headers: { "content-type": "application/x-www-form-urlencoded" } },
      "the body is no signed message",
    ],
  ])("is nothing when a value of %s is missing", (content, changes, reason) => {
    expect(bytesOf(content, changes)).toBe(reason);
  });

  it("has a time as the sender wrote it", () => {
    const timestamp = { from: "header:ts", unit: "seconds", toleranceSeconds: 1, futureSeconds: 1 } as const;
    expect(textOf("{timestamp}.", { headers: { ts: "007" } }, { timestamp })).toBe("007.");
    expect(bytesOf("{timestamp}.", {}, { timestamp })).toBe("timestamp is missing");
  });

  it.each<[string, string, boolean]>([
    ["{id}.{body}", "msg_1", true],
    ["{id}.{body}", "msg.1", false],
    ["{id}.{body}", "msg_1.", false],
    ["{id}.{body}", "", false],
    ["{id}{body}", "msg.1", true],
    ["{body}.{id}", "msg.1", true],
    ["{id}::{body}", "msg:1", true],
    ["{id}::{body}", "msg::1", false],
    ["{id}.{body}", "a".repeat(512), true],
    ["{id}.{body}", "a".repeat(513), false],
  ])("%s takes the id %j: %s", (content, id, isTaken) => {
    const found = textOf(content, { headers: { id }, body: "b" }, { id: "header:id" });
    expect(found).toBe(isTaken ? content.replace("{id}", id).replace("{body}", "b") : "the id is missing or malformed");
  });

  it("wants the id", () => {
    expect(bytesOf("{id}", {}, { id: "header:id" })).toBe("the id is missing or malformed");
    const sent = Buffer.from("größe").toString("latin1");
    expect(textOf("{id}", { headers: { id: sent } }, { id: "header:id" })).toBe("größe");
  });

  it.each([
    ["{bodies}", "auth.content: {bodies} is not known."],
    ["{toString}", "auth.content: {toString} is not known."],
    ["{header}", "auth.content: {header} is not known."],
    ["{method:a}", "auth.content: {method} takes nothing after a colon."],
    ["{id}", "auth.content has {id}; auth.id says where it is."],
    ["{timestamp}", "auth.content has {timestamp}; auth.timestamp says where it is."],
    ["{url}", "auth.content signs {url}; set hooks.publicUrl to the URL that the sender calls."],
    ["{decodedUrl}", "auth.content signs {decodedUrl}; set hooks.publicUrl to the URL that the sender calls."],
  ])("cannot be %s", (content, message) => {
    expect(() => compileContent(authFor(content), undefined)).toThrow(new TypeError(message));
  });
});

describe("what content says of itself", () => {
  const compiled = (content: string) =>
    compileContent(
      authFor(content, {
        id: "header:id",
        timestamp: { from: "header:ts", unit: "seconds", toleranceSeconds: 1, futureSeconds: 1 },
      }),
      PUBLIC_URL,
    );

  it.each<[string, object]>([
    ["{body}", { hasSecret: false, hasId: false, hasUrl: false, signsBody: true, signsForm: false }],
    ["{sha256}{secret}", { hasSecret: true, signsBody: true }],
    ["{crc32}{id}", { hasId: true, signsBody: true }],
    ["{sns}", { signsBody: true }],
    ["{form}{url}", { hasUrl: true, signsBody: false, signsForm: true }],
    ["{decodedUrl}{body:a}", { hasUrl: true, signsBody: false }],
    ["body", { signsBody: false }],
  ])("%s is %j", (content, expected) => {
    expect(compiled(content)).toMatchObject(expected);
  });

  it.each<[string, string, boolean]>([
    ["{body}", "body:a", true],
    ["{body:a}", "body:a", true],
    ["{body:a}", "body:b", false],
    ["{body}", "header:ts", false],
    ["{timestamp}", "header:ts", true],
    ["{timestamp}", "header:id", false],
    ["{id}", "header:id", true],
    ["{id}", "header:ts", false],
    ["{header:x}", "header:x", true],
  ])("%s covers %s: %s", (content, source, isCovered) => {
    expect(compiled(content).covers(source)).toBe(isCovered);
  });
});

describe("the cover of a body", () => {
  const FORM = { "content-type": "application/x-www-form-urlencoded" };
  const digestOf = (encoding: "hex" | "base64") => createHash("sha256").update("Hello, World!").digest(encoding);

  function cover(content: string, changes: Changes, bodyDigest?: SignatureAuth["bodyDigest"]) {
    const call = callOf(changes);
    const compiled = compileBodyCoverage(
      { bodyDigest },
      compileContent(authFor(content, { id: "header:id" }), PUBLIC_URL),
    );
    const reason = compiled.refuse({ call, view: requestViewOf(call), pairs: NO_PAIRS });
    return reason ?? (compiled.isOpen(call) ? "open" : "closed");
  }

  it.each<[string, Changes, string]>([
    ["{body}", {}, "closed"],
    ["{url}", {}, "open"],
    ["{url}{id}", {}, "closed"],
    ["{form}", { headers: FORM }, "closed"],
    ["{form}", {}, "the body is no form, and the sender signs forms only"],
    ["{form}", { body: "" }, "closed"],
    ["{body:payload}", {}, "closed"],
    ["{body:payload}{header:x-a}", {}, "open"],
    ["{form}{body}", {}, "closed"],
  ])("by %s of %j is %s", (content, changes, expected) => {
    expect(cover(content, changes)).toBe(expected);
  });

  const rule = { from: "header:digest", algorithm: "sha256", encoding: "hex" } as const;

  it.each<[string, Changes, string]>([
    ["{form}", { headers: { digest: digestOf("hex") } }, "closed"],
    ["{form}", { headers: { digest: digestOf("hex").toUpperCase() } }, "closed"],
    ["{form}", { headers: {} }, "the digest of the body is missing"],
    ["{form}", { headers: { digest: "" } }, "the digest of the body does not match"],
    ["{form}", { headers: { digest: digestOf("base64") } }, "the digest of the body does not match"],
    ["{form}", { headers: { digest: digestOf("hex").slice(2) } }, "the digest of the body does not match"],
    ["{form}", { headers: { digest: digestOf("hex") }, body: "Hello" }, "the digest of the body does not match"],
    ["{form}", { body: "" }, "the digest of the body is missing"],
    ["{form}", { headers: FORM }, "closed"],
    ["{form}", { headers: { ...FORM, digest: "wrong" } }, "closed"],
    ["{url}", { headers: FORM }, "the digest of the body is missing"],
    ["{body}", {}, "the digest of the body is missing"],
  ])("by %s with a digest of %j is %s", (content, changes, expected) => {
    expect(cover(content, changes, rule)).toBe(expected);
  });

  it("may be a digest in base64", () => {
    const changes = { headers: { digest: digestOf("base64") } };
    expect(cover("{form}", changes, { ...rule, encoding: "base64" })).toBe("closed");
  });
});
