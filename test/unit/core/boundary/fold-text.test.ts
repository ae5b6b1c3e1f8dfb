import { describe, expect, it } from "vitest";

import { foldText } from "../../../../src/core/boundary/fold-text.ts";
import { isSuspect } from "../../../../src/core/boundary/sanitize-untrusted.ts";
import { LOOK_ALIKES } from "../../../../src/core/boundary/look-alikes.ts";

/** The planes that hold any character but private ones: scripts, symbols, ideographs, and the invisible plane 14. */
const PLANES = [0x00, 0x01, 0x02, 0x03, 0x0e];

/** Every character of these beyond ASCII, also each surrogate on its own. */
const everyCharacter = PLANES.flatMap((plane) =>
  Array.from({ length: 0x1_00_00 }, (_, index) => String.fromCodePoint(plane * 0x1_00_00 + index)),
).slice(0x80);

describe("foldText", () => {
  it("folds every character that decomposes to printable ASCII, save its accents, to that", () => {
    const wrong: string[] = [];
    for (const char of everyCharacter) {
      const expected = char.normalize("NFKD").replace(/[\p{Mn}\p{Me}]/gu, "");
      if (!/^[!-~]+$/.test(expected) || LOOK_ALIKES.has(char)) continue;
      if (foldText(char).text !== expected) wrong.push(char);
    }
    expect(wrong).toEqual([]);
  });

  it("drops every character that is invisible by its Unicode properties", () => {
    const left: string[] = [];
    for (const char of everyCharacter) {
      if (!/[\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/u.test(char)) continue;
      if (foldText(char).text !== "") left.push(char.codePointAt(0)!.toString(16));
    }
    expect(left).toEqual([]);
  });

  it("folds every white space to white space", () => {
    const wrong = everyCharacter.filter((char) => /[\s\u0085]/.test(char) && !/^\s?$/.test(foldText(char).text));
    expect(wrong).toEqual([]);
    expect(foldText("a\u2028b\u0085c\u3000d\u1680e\uFEFFf").text).toBe("a b c d ef");
  });

  it("folds each look-alike to the character it is drawn like, also when a compatibility form leads to it", () => {
    for (const [char, ascii] of LOOK_ALIKES) expect(foldText(char).text).toBe(ascii);
    expect(foldText("\uFE3D\uFE3F\u2270").text).toBe("<<<");
  });

  it("gives printable ASCII, white space and one replacement character for anything else", () => {
    const folded = foldText("日本🚀\uD800한\u{20000}\u{10FFFF}ﷺ\tß").text;
    expect(folded).toBe("\u0001".repeat(folded.length - 2) + " \u0001");
  });

  it("leads back from any part to the whole characters behind it", () => {
    const text = "🚀\u200Bﬃ<\u0301\u{1D400}";
    const { text: folded, source } = foldText(text);
    expect(folded).toBe("\u0001ffi<A");
    const behind = (start: number, end: number) => text.slice(...source(start, end));
    expect(behind(0, 1)).toBe("🚀");
    expect(behind(1, 4)).toBe("ﬃ");
    expect(behind(2, 3)).toBe("ﬃ");
    expect(behind(3, 5)).toBe("ﬃ<");
    expect(behind(4, 6)).toBe("<\u0301\u{1D400}");
    expect(behind(5, 6)).toBe("\u{1D400}");
  });

  it("keeps offsets right when a text folds to many times its length", () => {
    const text = `${"㎯".repeat(1_000)}<`;
    const { text: folded, source } = foldText(text);
    expect(folded).toBe(`${"rad/s2".repeat(1_000)}<`);
    expect(source(6_000, 6_001)).toEqual([1_000, 1_001]);
    expect(source(5_995, 6_000)).toEqual([999, 1_000]);
  });
});

describe("isSuspect", () => {
  it("is true for every character that folds to what a marker or token needs, and for no other", () => {
    const wrong: string[] = [];
    for (const char of everyCharacter) {
      if (isSuspect(char) !== /[<[_]/.test(foldText(char).text) && !/[\u202B\u202E\u2067]/.test(char)) wrong.push(char);
    }
    expect(wrong).toEqual([]);
  });

  it("lets ordinary text in any language pass", () => {
    expect(isSuspect("The build failed: 3 > 2, see https://ci.example/?a=b&c=d (ask Ann)!")).toBe(false);
    expect(isSuspect("Größe geändert — ビルドが失敗しました。🚀")).toBe(false);
    expect(isSuspect("a <b>")).toBe(true);
    expect(isSuspect("Größe _x_")).toBe(true);
  });
});
