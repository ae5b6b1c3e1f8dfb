import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitText as partsOf } from "../../../../../src/hosts/embedded/channels/split-text.ts";

const splitText = (...args: Parameters<typeof partsOf>): readonly string[] => [...partsOf(...args)];
const words = (text: string): readonly string[] => text.split(/\s+/u).filter(Boolean);

describe("a long text", () => {
  it("stays whole as long as it fits", () => {
    expect(splitText("Short.", 200)).toEqual(["Short."]);
    expect(splitText("", 200)).toEqual([""]);
    expect(splitText("x".repeat(200), 200)).toHaveLength(1);
  });

  it("is cut after a paragraph, else a line, a sentence or a word", () => {
    const half = "a".repeat(150);
    expect(splitText(`${half}\n\n${half}`, 200)).toEqual([half, half]);
    expect(splitText(`${half}\n${half}`, 200)).toEqual([half, half]);
    expect(splitText(`${half}. ${half}`, 200)).toEqual([`${half}.`, half]);
    expect(splitText(`${half} ${half}`, 200)).toEqual([half, half]);
    expect(splitText("b".repeat(300), 200).map(({ length }) => length)).toEqual([196, 104]);
  });

  it("closes a block of code and opens it again in the next part", () => {
    const code = Array.from({ length: 20 }, (_, at) => `line ${at} of the code`).join("\n");
    const parts = splitText(`Before:\n\n\`\`\`ts\n${code}\n\`\`\`\n\nAfter.`, 200);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(part.match(/```/gu)?.length ?? 0).toSatisfy((count: number) => count % 2 === 0);
    expect(parts[1]).toMatch(/^```ts\nline/u);
  });

  it.each(["~~~ts", `~~~${"x".repeat(60)}`])("closes a block by the marks that opened it: %s", (opening) => {
    const code = Array.from({ length: 20 }, (_, at) => `line ${at} of the code`).join("\n");
    const parts = splitText(`${opening}\n${code}\n~~~`, 200);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(part.split("\n").filter((line) => line.startsWith("~~~"))).toHaveLength(2);
  });

  it("opens no block of code again that ends where the text is cut", () => {
    const block = `\`\`\`ts\n${"x".repeat(190)}\n\`\`\``;
    expect(splitText(block, 200)).toEqual([block]);
    expect(splitText(`${block}\n\nAfter.`, 200)).toEqual([block, "After."]);
    expect(splitText(`${block}    \n`, 200)).toEqual([block]);
  });

  it("is cut further where it is larger as it is sent, at the same places each time", () => {
    const sizeOf = (part: string): number => Buffer.byteLength(part);
    const parts = splitText("語".repeat(3_600), 4_000, sizeOf);
    expect(parts.join("")).toBe("語".repeat(3_600));
    expect(parts.length).toBeLessThanOrEqual(4);
    expect(parts.every((part) => sizeOf(part) <= 4_000)).toBe(true);
    expect(splitText("語".repeat(3_600), 4_000, sizeOf)).toEqual(parts);
  });

  it("is cut into characters when not even two fit, and a block of code with a long first line comes to an end", () => {
    expect(splitText("a😀b", 200, () => Infinity)).toEqual(["a", "😀", "b"]);
    const code = `\`\`\`${"x".repeat(37)}\n${"code".repeat(100)}\n\`\`\``;
    for (const factor of [1.5, 4, 30, 300]) {
      const sizeOf = (part: string): number => part.length * factor;
      const parts = splitText(code, 200, sizeOf);
      expect(parts.every((part) => part.length === 1 || sizeOf(part) <= 200)).toBe(true);
    }
  });

  it("keeps every word in order, and cuts no character in half, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), fc.integer({ min: 200, max: 400 }), (raw, limit) => {
        const text = raw.repeat(50).replaceAll(/```|~~~/gu, "");
        const sizeOf = (part: string): number => Buffer.byteLength(JSON.stringify(part));
        const parts = splitText(text, limit, sizeOf);
        expect(parts.every((part) => part.length <= limit && sizeOf(part) <= limit)).toBe(true);
        expect(parts.every((part) => part.isWellFormed() === text.isWellFormed())).toBe(true);
        expect(parts.join("").replaceAll(/\s/gu, "")).toBe(text.replaceAll(/\s/gu, ""));
      }),
    );
    const text = "One two. Three four.\n\n".repeat(100);
    expect(words(splitText(text, 230).join(" "))).toEqual(words(text));
  });
});
