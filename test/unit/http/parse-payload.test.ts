import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { parsePayload } from "../../../src/http/parse-payload.ts";
import type { ParsePayloadOptions } from "../../../src/http/parse-payload.ts";

const FORM = "application/x-www-form-urlencoded";

function parse(body: string | Uint8Array, contentType?: string, options?: ParsePayloadOptions) {
  return parsePayload(typeof body === "string" ? Buffer.from(body) : body, contentType, options);
}

function payloadOf(body: string | Uint8Array, contentType?: string, options?: ParsePayloadOptions): unknown {
  const parsed = parse(body, contentType, options);
  if (!parsed.ok) throw new Error(`${parsed.code}: ${parsed.detail}`);
  return parsed.payload;
}

const refusal = (code: string, detail: string) => ({ ok: false, code, detail });
const INVALID_JSON = refusal("INVALID_JSON", "The body is not valid JSON; send JSON.");
const INVALID_UTF8 = refusal("INVALID_UTF8", "The body is not valid UTF-8; send it encoded in UTF-8.");
const notTaken = (type: string) =>
  refusal(
    "UNSUPPORTED_MEDIA_TYPE",
    `The body is not JSON in UTF-8 and this hook does not take ${type}; send application/json.`,
  );

describe("a JSON body", () => {
  it.each([
    undefined,
    "",
    "application/json",
    "text/json",
    "application/vnd.x+json",
    FORM,
    "text/plain",
    "image/png",
    "?",
  ])("is read whatever the content type says: %j", (contentType) => {
    expect(parse('{"a":[1,"x"]}', contentType)).toMatchObject({ payload: { a: [1, "x"] }, format: "json" });
  });

  it("is read before the formats that the mapping takes", () => {
    expect(parse('{"a":1}', FORM, { accept: ["form"] })).toMatchObject({ payload: { a: 1 }, format: "json" });
    expect(parse("[1]", "text/plain", { accept: ["text"] })).toMatchObject({ payload: [1], format: "json" });
  });

  it("may be an array, which stays one", () => {
    expect(payloadOf('[{"a":1}]')).toEqual([{ a: 1 }]);
  });

  it.each(["null", "true", "42", '"text"', " -1.5e3 "])("that is the scalar %s is an empty object", (body) => {
    const empty = { ok: true, payload: {}, format: "json", isPlain: false };
    expect(parse(body, "application/json")).toEqual(empty);
    expect(payloadOf(body, FORM)).toEqual({});
  });

  it.each(["", " ", "\r\n\t ", "\uFEFF", "\uFEFF \n", "\u00A0"])(
    "that is empty or blank (%j) is an empty object",
    (body) => {
      for (const type of [undefined, "application/json", FORM, "image/png"]) {
        const empty = { ok: true, payload: {}, format: "json", isPlain: false };
        expect(parse(body, type, { accept: ["form", "text"] })).toEqual(empty);
      }
    },
  );

  it.each([
    ['{"a":[1,"ü",{"b":null}]}', true],
    ["[]", true],
    ['\uFEFF{"a":1}', false],
    [' {"a":1}', false],
    ['{"a":1}\n', false],
    ['{"a":12345678901234567890}', false],
    ['{"__proto__":{"a":1}}', false],
    ['{"\\u005f_proto__":1}', false],
    ['{"constructor":{"prototype":{}}}', false],
  ])("is what JSON.parse alone makes of its bytes, or is known to differ: %j", (body, isPlain) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ ok: true, isPlain });
    if (parsed.ok && isPlain) expect(parsed.payload).toEqual(JSON.parse(body));
  });

  it("may begin with a byte order mark and be surrounded by white space", () => {
    expect(payloadOf('\uFEFF{"a":1}')).toEqual({ a: 1 });
    expect(payloadOf('\r\n {"a":"\uFEFF x "} \n')).toEqual({ a: "\uFEFF x " });
  });

  it("takes the last of duplicate keys", () => {
    expect(payloadOf('{"a":1,"b":2,"a":3}')).toEqual({ a: 3, b: 2 });
  });

  it("loses the keys that could pollute a prototype, however they are written", () => {
    const payload = payloadOf(
      '{"__proto__":{"x":1},"a":{"\\u005f_proto__":2},"constructor":{"prototype":{}}}',
    ) as object;
    expect(JSON.stringify(payload)).toBe('{"a":{}}');
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
  });

  it("is read from the bytes of a view, not of its whole buffer", () => {
    const whole = Buffer.from('xx{"a":1}yy');
    expect(payloadOf(new Uint8Array(whole.buffer, whole.byteOffset + 2, 7))).toEqual({ a: 1 });
  });

  it("may nest 64 levels deep, and no deeper", () => {
    const nest = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    const tooDeep = refusal("TOO_DEEP", "The JSON body is nested deeper than 64 levels; send a flatter one.");
    expect(parse(nest(64)).ok).toBe(true);
    expect(parse(nest(65))).toEqual(tooDeep);
    expect(parse(nest(100_000), "application/json")).toEqual(tooDeep);
    expect(parse('{"a":'.repeat(100_000), FORM)).toEqual(tooDeep);
    expect(parse(nest(100_000), FORM, { accept: ["form"] })).toEqual(tooDeep);
    expect(payloadOf(`[${"[],".repeat(1000)}"${"[".repeat(1000)}"]`)).toHaveLength(1001);
  });

  it("may nest as deep as maxDepth says", () => {
    expect(parse("[[]]", undefined, { maxDepth: 2 }).ok).toBe(true);
    expect(parse("[[[]]]", undefined, { maxDepth: 2 })).toEqual(
      refusal("TOO_DEEP", "The JSON body is nested deeper than 2 levels; send a flatter one."),
    );
    expect(parse("1", undefined, { maxDepth: 0 }).ok).toBe(true);
  });
});

describe("an integer in JSON", () => {
  it.each([
    ["9007199254740991", 9_007_199_254_740_991],
    ["-9007199254740991", -9_007_199_254_740_991],
    ["9007199254740993", "9007199254740993"],
    ["-820982911946154508", "-820982911946154508"],
    ["1795176000000", 1_795_176_000_000],
    ["0.12345678901234567890", 0.123_456_789_012_345_68],
    ["1e300", 1e300],
  ])("keeps its digits: %s", (written, read) => {
    expect(parse(`{"a":[${written}]}`)).toMatchObject({ payload: { a: [read] } });
  });

  it("is not read out of a string", () => {
    expect(parse('{"a":"9007199254740993","b":1}')).toMatchObject({ payload: { a: "9007199254740993", b: 1 } });
  });
});

describe("a body that is not JSON", () => {
  it.each([undefined, "", "application/json", "Application/JSON; charset=utf-8", "text/json", "application/x+json"])(
    "is INVALID_JSON under %j",
    (contentType) => {
      for (const body of ["a=1", "{", '{"a":1}}', "{'a':1}", "[1,]", "NaN", "{}{}"]) {
        expect(parse(body, contentType, { accept: ["form", "text"] })).toEqual(INVALID_JSON);
      }
    },
  );

  it.each([
    [FORM, `"${FORM}"`],
    ["text/plain; charset=utf-8", '"text/plain"'],
    ["TEXT/XML", '"text/xml"'],
    ["image/png", '"image/png"'],
    ["no type at all", "this Content-Type"],
    [`x/${"y".repeat(200)}`, "this Content-Type"],
  ])("is UNSUPPORTED_MEDIA_TYPE under %s, and the answer names %s", (contentType, shown) => {
    expect(parse("a=1", contentType)).toEqual(notTaken(shown));
    expect(parse("a=1", contentType, { accept: ["json"] })).toEqual(notTaken(shown));
  });

  it("never appears in the answer", () => {
    for (const body of ["secret", '{"a":secret}', '["secret', "secret\xff", '"secret']) {
      for (const type of ["application/json", "text/plain", undefined]) {
        for (const encoding of ["utf8", "latin1"] as const) {
          expect(JSON.stringify(parse(Buffer.from(body, encoding), type))).not.toContain("secret");
        }
      }
    }
  });

  it("is a form where the mapping takes forms: the last value wins, keys are own", () => {
    expect(parse("a=1&b=x+y&a=2&__proto__=p&c%5B%5D=%C3%A9\r\n", FORM, { accept: ["form"] })).toEqual({
      ok: true,
      isPlain: false,
      payload: { a: "2", b: "x y", "c[]": "é" },
      format: "form",
    });
    expect(payloadOf("42", FORM, { accept: ["json", "form"] })).toEqual({ "42": "" });
    expect(parse("a=1", "text/plain", { accept: ["form"] })).toEqual(notTaken('"text/plain"'));
  });

  it("is { text } where the mapping takes text, as it was sent but for a byte order mark", () => {
    expect(parse("\uFEFF  hello [world\n", "text/plain", { accept: ["text"] })).toEqual({
      ok: true,
      isPlain: false,
      payload: { text: "  hello [world\n" },
      format: "text",
    });
    expect(payloadOf("<a/>", "text/xml", { accept: ["text"] })).toEqual({ text: "<a/>" });
    expect(payloadOf("42", "text/plain", { accept: ["text"] })).toEqual({ text: "42" });
    const brackets = "[".repeat(100_000);
    expect(payloadOf(brackets, "text/plain", { accept: ["text"] })).toEqual({ text: brackets });
    expect(parse("a=1", FORM, { accept: ["text"] })).toEqual(notTaken(`"${FORM}"`));
  });
});

describe("the encoding of a body", () => {
  const latin1 = Buffer.from('{"name":"Zoë"}', "latin1");
  const broken: [string, Uint8Array][] = [
    ["Latin-1", latin1],
    ["an overlong slash", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ["a surrogate", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["a cut character", Buffer.from([0x22, 0xe2, 0x82])],
    ["UTF-16 with a byte order mark", Buffer.from("\uFEFF{}", "utf16le")],
  ];

  it.each(broken)("must be UTF-8: %s is INVALID_UTF8", (_, body) => {
    expect(parse(body, "application/json")).toEqual(INVALID_UTF8);
    expect(parse(body)).toEqual(INVALID_UTF8);
    expect(parse(body, FORM, { accept: ["form"] })).toEqual(INVALID_UTF8);
    expect(parse(body, "text/plain", { accept: ["text"] })).toEqual(INVALID_UTF8);
  });

  it("that is not UTF-8, under a type that is neither JSON nor taken, is UNSUPPORTED_MEDIA_TYPE", () => {
    expect(parse(latin1, FORM)).toEqual(notTaken(`"${FORM}"`));
    expect(parse(Buffer.from([0x89, 0x50, 0x4e, 0x47]), "image/png")).toEqual(notTaken('"image/png"'));
  });

  it("does not carry over from one body to the next", () => {
    parse(Buffer.from([0x22, 0xe2, 0x82]));
    expect(payloadOf('\uFEFF{"a":"€"}')).toEqual({ a: "€" });
  });

  it("must not be declared as another charset, which the answer names", () => {
    for (const type of ["application/json", "text/plain", FORM]) {
      expect(parse("{}", `${type}; charset=ISO-8859-1`, { accept: ["form", "text"] })).toEqual(
        refusal("UNSUPPORTED_MEDIA_TYPE", 'The charset "iso-8859-1" is not supported; send UTF-8.'),
      );
    }
    expect(parse("{}", 'application/json; charset="<x>"')).toEqual(
      refusal("UNSUPPORTED_MEDIA_TYPE", 'The charset "unreadable" is not supported; send UTF-8.'),
    );
    for (const charset of ["utf-8", "UTF-8", "utf8", "us-ascii"]) {
      expect(payloadOf('{"a":"é"}', `application/json; charset=${charset}`)).toEqual({ a: "é" });
    }
  });
});

describe("parsePayload, for any input", () => {
  const types = [undefined, "application/json", FORM, "text/plain", "image/png"];
  const contentType = fc.oneof(fc.constantFrom(...types), fc.string());
  const accept = fc.subarray(["json", "form", "multipart", "text"] as const);

  /** JSON.stringify writes some large numbers with all of their digits: these are read as text. */
  const digitsOf = (_key: string, read: unknown): unknown =>
    typeof read === "number" && !Number.isSafeInteger(read) && /^-?\d+$/.test(String(read)) ? String(read) : read;

  it("gives back every JSON object and array", () => {
    const value = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));
    fc.assert(
      fc.property(value, fc.constantFrom(...types), accept, fc.constantFrom(0, 2), (value, type, accept, indent) => {
        const text = JSON.stringify(value, null, indent);
        fc.pre(!/__proto__|constructor/.test(text));
        const parsed = parse(text, type, { accept });
        expect(parsed).toMatchObject({ ok: true, format: "json" });
        if (!parsed.ok) return;
        expect(parsed.payload).toEqual(JSON.parse(text, digitsOf));
        if (parsed.isPlain) expect(parsed.payload).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it("never throws, and answers with an object, an array or one of four codes", () => {
    const codes = ["INVALID_JSON", "INVALID_UTF8", "TOO_DEEP", "UNSUPPORTED_MEDIA_TYPE"];
    const token = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      '"',
      ":",
      ",",
      "1",
      "\\",
      "\\u00",
      "__proto__",
      "\uFEFF",
      "=",
      "&",
    );
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.array(fc.oneof(token, fc.string()), { maxLength: 24 }).map((parts) => Buffer.from(parts.join(""))),
      fc.json().map((text) => Buffer.from(text)),
      fc.json().map((text) => Buffer.from(text, "utf16le")),
    );
    fc.assert(
      fc.property(body, contentType, accept, fc.nat({ max: 3 }), (body, type, accept, maxDepth) => {
        const parsed = parsePayload(body, type, { accept, maxDepth });
        if (parsed.ok) {
          expect(typeof parsed.payload).toBe("object");
          expect(parsed.payload).not.toBeNull();
          expect(Object.hasOwn(parsed.payload, "__proto__")).toBe(false);
        } else {
          expect(codes).toContain(parsed.code);
          expect(parsed.detail).toMatch(/^The .+; send .+\.$/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
