import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { readMediaType } from "../../../src/http/media-type.ts";

describe("readMediaType", () => {
  it.each<[string | undefined, string, string | undefined]>([
    [undefined, "none", undefined],
    ["", "none", undefined],
    ["application/json", "json", "application/json"],
    ["Application/JSON; Charset=UTF-8", "json", "application/json"],
    ["text/json", "json", "text/json"],
    ["application/vnd.github.v3+json", "json", "application/vnd.github.v3+json"],
    ["application/cloudevents+json; charset=utf-8", "json", "application/cloudevents+json"],
    ["application/x-www-form-urlencoded", "form", "application/x-www-form-urlencoded"],
    ["Multipart/Form-Data; boundary=x", "multipart", "multipart/form-data"],
    ["multipart/mixed", "other", "multipart/mixed"],
    ["text/plain", "text", "text/plain"],
    ["text/xml;charset=utf8", "text", "text/xml"],
    ["application/xml", "other", "application/xml"],
    ["application/jsonp", "other", "application/jsonp"],
    ["image/png", "other", "image/png"],
    ["garbage", "other", undefined],
    ["text", "other", undefined],
    ["a/b/c", "other", undefined],
    ["text/pl ain", "other", undefined],
    ["<script>/x", "other", undefined],
    ["; charset=utf-8", "other", undefined],
    [`text/${"x".repeat(95)}`, "text", `text/${"x".repeat(95)}`],
    [`text/${"x".repeat(96)}`, "other", undefined],
  ])("reads %j as %s, named %j", (header, kind, name) => {
    expect(readMediaType(header)).toEqual({ kind, name, foreignCharset: undefined });
  });

  it.each<[string, string | undefined]>([
    ["utf-8", undefined],
    ["UTF-8", undefined],
    ['"utf-8"', undefined],
    ["utf8", undefined],
    ["us-ascii", undefined],
    ["ASCII", undefined],
    ["ISO-8859-1", "iso-8859-1"],
    ['"utf-16le"', "utf-16le"],
    ['"<b>"', "unreadable"],
    ['""', "unreadable"],
    ["x".repeat(101), "unreadable"],
    ["__proto__", "__proto__"],
  ])("the charset %s is foreign as %j", (charset, foreign) => {
    expect(readMediaType(`application/json; charset=${charset}`).foreignCharset).toBe(foreign);
  });

  it("does not look for the charset among inherited properties", () => {
    expect(readMediaType("text/plain; __proto__=x; constructor=y").foreignCharset).toBeUndefined();
  });

  it("never throws, and repeats only media types and tokens", () => {
    const part = fc.oneof(fc.string(), fc.constantFrom("text/", "json", ";", "charset=", '"', "\\", "\r\n", "/", " "));
    const header = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(header, (header) => {
        const { name, foreignCharset } = readMediaType(header);
        for (const shown of [name ?? "a/b", foreignCharset ?? "c"])
          expect(shown).toMatch(/^[!#$%&'*+.^_`|~\w/-]{1,100}$/);
      }),
      { numRuns: 1000 },
    );
  });
});
