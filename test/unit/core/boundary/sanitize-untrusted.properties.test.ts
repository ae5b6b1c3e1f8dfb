import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { sanitizeUntrusted } from "../../../../src/core/boundary/sanitize-untrusted.ts";
import { wrapUntrusted } from "../../../../src/core/boundary/wrap-untrusted.ts";
import { forgedMarker } from "./forged-marker.ts";
import { markersRead, plainReading } from "./plain-reading.ts";

const RUNS = { numRuns: 1_000 };
const ID = "0123456789abcdef";

/** Text that is no part of a marker, of every width and shape that could shift an offset. */
const harmless = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "a",
        "z9",
        "\u{1F680}",
        "\u{1F469}\u200D\u{1F4BB}",
        "\uFB03",
        "\uFDFA",
        "\u33AF",
        "\u00BD",
        "\uFF21\uFF22",
      ),
      fc.constantFrom(
        "\u65E5\u672C",
        "\uD55C\uAE00",
        "e\u0301",
        "\u200B",
        "\u{E0020}",
        "\uD800",
        "\uDC00x",
        "\u{20000}",
        "\u0000",
      ),
      fc.constantFrom("external ", "untrusted content ", "\n", " ", "Content", "\uFF10"),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

/** What markers, tokens and replacements are made of, in any order. */
const soup = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom("<", "<<<", ">", ">>>", "[", "]", "|", "<|", "|>", "/", "</", "\uFF1C", "\u00AB"),
      },
      {
        weight: 3,
        arbitrary: fc.constantFrom("END", "EXTERNAL", "UNTRUSTED", "CONTENT", "_", " ", "\n", "external_untrusted_"),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom(' id="', '"', "=", "id", ID, "\u200B", "\u0301", "\uD83D", "\uDE00", "\uFB03"),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom("s", "s>", "im_start", "INST", "INST]", "<<SYS", "SYS>>", "bos>", "start_of_turn"),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom("[[MARKER_SANITIZED]]", "[REMOVED_SPECIAL_TOKEN]", "MARKER", "~b]", "[e~"),
      },
      { weight: 1, arbitrary: forgedMarker.map(({ text }) => text) },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 4 }) },
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(""));

/** Digits and signs that are read as letters, and letters of alphabets that Unicode does not decompose. */
const DRAWN: Readonly<Record<string, string>> = {
  a: "4\u15E9\u{10300}",
  c: "\u1455\u{10302}",
  d: "\u15EA\u{10303}",
  e: "3\u15F4\u{10304}",
  l: "1\u14AA\u{1030B}",
  n: "\u144E\u{1030D}",
  o: "0\u{1030F}",
  r: "\u1587\u{10313}",
  s: "5$\u1515\u{10314}",
  t: "7\u{10315}",
  u: "\u144C\u{10316}",
  x: "\u166D\u{10317}",
};
const drawnWord = (word: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...Array.from(word, (letter) =>
        fc.tuple(
          fc.constantFrom("", "", "", "\uE000", "\uFFFC", "\u{10FFFD}"),
          fc.constantFrom(letter, letter.toUpperCase(), ...Array.from(DRAWN[letter] ?? "")),
        ),
      ),
    )
    .map((letters) => letters.map((parts) => parts.join("")).join(""));
const JOINED = ["|", ",", ";", "#", ") (", "][", "-", "_", "%5F", "&#95;", "&#x5f;", "&lowbar;", "\\u005f"];
const otherForgery = fc
  .tuple(
    fc.constantFrom("<<<", "(((", "[[[", "{{{", "---", "===", "###", "&lt;&lt;", "%3C%3C", "\\u003c", "( ( ("),
    fc.tuple(...["end", "external", "untrusted", "content"].map(drawnWord)),
    fc.tuple(...[0, 1, 2].map(() => fc.constantFrom(...JOINED))),
  )
  .map(
    ([opening, words, [one, two, three]]) =>
      `${opening}${words[0]}${one}${words[1]}${two}${words[2]}${three}${words[3]}`,
  );

describe("sanitizeUntrusted, for any content", () => {
  it("neutralizes one in other brackets, with other separators, alphabets, digits for letters and encodings", () => {
    fc.assert(
      fc.property(harmless, otherForgery, (before, forgery) => {
        const safe = sanitizeUntrusted(`${before} x ${forgery} y`);
        expect(safe).toBe(`${before} x [[END_MARKER_SANITIZED]] y`);
        expect(sanitizeUntrusted(safe)).toBe(safe);
      }),
      RUNS,
    );
  });

  it("replaces exactly the span of a forged marker in any disguise and leaves the text around it unit for unit", () => {
    fc.assert(
      fc.property(harmless, forgedMarker, harmless, (before, { text, kind }, after) => {
        const expected = kind === "start" ? "[[MARKER_SANITIZED]]" : "[[END_MARKER_SANITIZED]]";
        expect(sanitizeUntrusted(`${before}x${text}${after}`)).toBe(`${before}x${expected}${after}`);
      }),
      RUNS,
    );
  });

  it("leaves no marker that an independent reading can find", () => {
    fc.assert(
      fc.property(soup, (text) => {
        expect(markersRead(sanitizeUntrusted(text))).toEqual([]);
      }),
      RUNS,
    );
  });

  it("leaves no control token that an independent reading can find", () => {
    const token = /<\|[a-z_]+\|>|<\/?s>|<<\/?sys>>|\[\/?inst\]|<bos>|<start_of_turn>/;
    fc.assert(
      fc.property(soup, (text) => {
        const read = plainReading(sanitizeUntrusted(text)).replace(/[^\P{Cc}\s]/gu, "");
        expect(read.match(token)?.[0]).toBeUndefined();
      }),
      RUNS,
    );
  });

  it("changes nothing in what it returned, nor in any part of that", () => {
    fc.assert(
      fc.property(soup, fc.nat(), fc.nat(), (text, first, second) => {
        const once = sanitizeUntrusted(text);
        expect(sanitizeUntrusted(once)).toBe(once);
        const start = first % (once.length + 1);
        const part = once.slice(start, start + (second % (once.length + 1)));
        expect(sanitizeUntrusted(part)).toBe(part);
      }),
      RUNS,
    );
  });

  it("returns text without brackets and underscores as it is", () => {
    fc.assert(
      fc.property(fc.oneof(harmless, fc.string({ unit: "binary" })), (text) => {
        fc.pre(!/[<[_]/.test(plainReading(text)));
        expect(sanitizeUntrusted(text)).toBe(text);
      }),
      RUNS,
    );
  });
});

describe("wrapUntrusted, for any content and metadata", () => {
  it("holds the two real markers and no other, also across metadata and content", () => {
    fc.assert(
      fc.property(soup, soup, soup, (content, name, subject) => {
        const wrapped = wrapUntrusted(content, { source: "Webhook", name, subject });
        const [start, end, ...more] = markersRead(wrapped);
        const ID = /([0-9a-f]{16})">>>$/.exec(wrapped)?.[1];
        // Brackets at the very end of the content read as more brackets of the end marker, never as another marker.
        expect(start).toBe(`<<<externaluntrustedcontentid${ID}`);
        expect(end).toMatch(new RegExp(`^<<<+endexternaluntrustedcontentid${ID}$`));
        expect(more).toEqual([]);
        expect(wrapped.endsWith(`\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="${ID}">>>`)).toBe(true);
      }),
      RUNS,
    );
  });
});
