import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBytes, decodeKeyBase64 } from "../../../../src/auth/signatures/decode-bytes.ts";

const hexOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex");

describe("decodeBytes", () => {
  it.each(["hex", "base64", "base64url"] as const)("reads any bytes written in %s", (encoding) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        const text = Buffer.from(bytes).toString(encoding);
        expect(hexOf(decodeBytes(text, encoding))).toBe(hexOf(bytes));
        if (encoding === "hex") expect(hexOf(decodeBytes(text.toUpperCase(), "hex"))).toBe(hexOf(bytes));
        else expect(hexOf(decodeBytes(text.replace(/=+$/, ""), encoding))).toBe(hexOf(bytes));
      }),
    );
  });

  it("reads bytes in one way only, but for case and padding", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("hex", "base64", "base64url"), (text, encoding) => {
        const bytes = decodeBytes(text, encoding);
        if (bytes === undefined) return;
        const written = bytes.toString(encoding);
        expect(encoding === "hex" ? text.toLowerCase() : text.replace(/=+$/, "")).toBe(written.replace(/=+$/, ""));
      }),
    );
  });

  it.each([
    ["hex", ""],
    ["hex", "abc"],
    ["hex", "0x12"],
    ["hex", "12 "],
    ["hex", "zz"],
    ["hex", "12\n"],
    ["hex", "ab=="],
    ["base64", ""],
    ["base64", "="],
    ["base64", "===="],
    ["base64", "A"],
    ["base64", "AAAAA"],
    ["base64", "AB=="],
    ["base64", "AB"],
    ["base64", "AAB="],
    ["base64", "AA="],
    ["base64", "AAA=="],
    ["base64", "AAAA="],
    ["base64", "AA===="],
    ["base64", "A==="],
    ["base64", "AA==\n"],
    ["base64", " AA=="],
    ["base64", "AA==AAAA"],
    ["base64", "-_8="],
    ["base64url", "+/8"],
    ["base64url", "AB"],
    ["base64url", ""],
  ] as const)("reads no bytes in %s from %j", (encoding, text) => {
    expect(decodeBytes(text, encoding)).toBeUndefined();
  });

  it.each([
    ["base64", "+/8=", "fbff"],
    ["base64", "+/8", "fbff"],
    ["base64", "AA==", "00"],
    ["base64url", "-_8", "fbff"],
    ["base64url", "-_8=", "fbff"],
    ["hex", "aBcD", "abcd"],
  ] as const)("reads in %s %j as %s", (encoding, text, hex) => {
    expect(hexOf(decodeBytes(text, encoding))).toBe(hex);
  });
});

describe("decodeKeyBase64", () => {
  it.each([
    ["AAEC", "000102"],
    [" AAEC\n", "000102"],
    ["AAE=", "0001"],
    ["AAE", "0001"],
    ["AAF", "0001"],
    ["+/8=", "fbff"],
    ["-_8", "fbff"],
  ])("reads %j as %s", (text, hex) => {
    expect(hexOf(decodeKeyBase64(text))).toBe(hex);
  });

  it.each(["", "=", "A", "AAAAA", "AA*A", "AA AA"])("reads nothing from %j", (text) => {
    expect(decodeKeyBase64(text)).toBeUndefined();
  });
});
