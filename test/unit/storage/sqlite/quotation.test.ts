import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteBody, WHOLE_TEXT } from "../../../../src/storage/sqlite/quotation.ts";

const database = new DatabaseSync(":memory:");
const restore = database.prepare(
  `SELECT ${WHOLE_TEXT} AS whole FROM (SELECT ? AS text, CAST(? AS INTEGER) AS quotation, ? AS body)`,
);

function restored(text: string, body: Uint8Array): unknown {
  const { text: rest, quotation } = quoteBody(text, body);
  return restore.get(rest, quotation, body)?.["whole"];
}

/** No two pieces of it are alike. */
function prose(words: number, word = "word"): string {
  return Array.from({ length: words }, (_, at) => `${word}${at * 7919}`).join(" ");
}

describe("a text that quotes a body", () => {
  it("is stored without what it quotes", () => {
    const quoted = prose(100);
    const { text, quotation } = quoteBody(`Ada says: ${quoted}\nAnswer her.`, Buffer.from(JSON.stringify({ quoted })));
    expect(text).toBe("Ada says: \nAnswer her.");
    expect(quotation).not.toBeNull();
  });

  it("is restored exactly, wherever the quotation is and whatever its characters are", () => {
    const pieces = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 40 }),
      fc.constantFrom("", "\0", "é", "€", "😀", "\n"),
    );
    const quotations = fc.oneof(
      fc.string({ unit: "binary", minLength: 64, maxLength: 400 }).filter((text) => text.isWellFormed()),
      fc.constantFrom(prose(40), prose(40, "größe€😀"), "x".repeat(500), "ab".repeat(300)),
    );
    fc.assert(
      fc.property(pieces, quotations, pieces, pieces, (before, quotation, after, around) => {
        const text = `${before}${quotation}${after}`;
        expect(restored(text, Buffer.from(`${around}${quotation}${after}`))).toBe(text);
        expect(restored(text, Buffer.from(`${quotation.slice(1)}${around}`))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it("is the whole of it, when it is nothing else", () => {
    const body = Buffer.from(prose(200));
    expect(quoteBody(body.toString(), body).text).toBe("");
    expect(restored(body.toString(), body)).toBe(body.toString());
  });

  it("is found where only a part of it is in the body as it is", () => {
    const [first, second] = [prose(20, "first"), prose(60, "second")];
    const { text } = quoteBody(`${first}\n${second}`, Buffer.from(JSON.stringify(`${first}\n${second}`)));
    expect(text).toBe(`${first}\n`);
  });

  it("keeps whole characters where the body has only a part of one", () => {
    const quoted = prose(20);
    const body = Buffer.concat([Buffer.from("€").subarray(1), Buffer.from(quoted), Buffer.from("€").subarray(0, 2)]);
    const text = `€${quoted}€`;
    expect(quoteBody(text, body).text).toBe("€€");
    expect(restored(text, body)).toBe(text);
  });

  it.each([
    ["a short text", "short", Buffer.from("short")],
    ["a text that quotes little", `${prose(100)} of the body`, Buffer.from(`${prose(100, "other")} of the body`)],
    ["a text of 128 KiB", "x".repeat(2 ** 17), Buffer.from("x".repeat(2 ** 17))],
    ["a text of 128 KiB in UTF-8", "€".repeat(2 ** 16), Buffer.from("€".repeat(2 ** 16))],
    ["what the body has only after its first 128 KiB", prose(100), Buffer.from("x".repeat(2 ** 17) + prose(100))],
  ])("is stored as it is: %s", (_, text, body) => {
    expect(quoteBody(text, body)).toEqual({ text, quotation: null });
  });

  it("is restored from the end of what is searched", () => {
    const quoted = prose(100);
    const body = Buffer.from("-".repeat(2 ** 17 - 1 - quoted.length) + quoted);
    const text = `<<${quoted}>>`;
    expect(quoteBody(text, body).text).toBe("<<>>");
    expect(restored(text, body)).toBe(text);
  });
});
