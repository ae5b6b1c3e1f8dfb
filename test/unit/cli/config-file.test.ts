import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import JSON5 from "json5";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigFile } from "../../../src/cli/config-file.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-config-file-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function read(text: string): ConfigFile {
  const file = join(folder, "reveille.json5");
  writeFileSync(file, text);
  return ConfigFile.read(file);
}

describe("a configuration file", () => {
  it.each([
    `{ when: 'payload.status == "failed"', other: 1 }`,
    String.raw`{ name: "it\'s", 'and \'so\'': 'say \"x\"', quoted: "\"" }`,
    String.raw`{ escapes: "\x41\v\0\q\u0041", slashes: '\\', both: '\\\'' }`,
    "{ continued: 'one \\\n two \"2\" \\\r\n three' }",
    '{ tab: "a\tb", line: "a\u2028b" }',
    "{ default: true, class: null, true: 1, null: 2, Infinity: 3, NaN: NaN, in: { if: [] } }",
    String.raw`{ \u0061b: 1, $a_1: 2, ключ: 3 }`,
    `{ default /* " */ : 'x: "y"', // it's\n list: ["default", 'null', null,], }`,
    "\uFEFF// head\n{ a: +1, b: .5, c: 5., d: 0x1F, e: -Infinity, f: 1e3 } // tail",
  ])("is read as the gateway reads it, and is as it was where nothing is edited: %j", (text) => {
    const file = read(text);
    expect(file.get([])).toEqual(JSON5.parse(text));
    expect(file.text).toBe(text);
    const added = { note: `it's "x" \\ \n`, default: "in" };
    file.set(["added"], added);
    expect(JSON5.parse(file.text)).toEqual({ ...JSON5.parse<object>(text), added });
    expect(file.delete(["added"])).toBe(true);
    expect(JSON5.parse(file.text)).toEqual(JSON5.parse(text));
  });

  it("loses nothing beside a value that is removed, whatever characters are before it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (text, note) => {
        const comment = note.replaceAll(/[\r\n\u2028\u2029]/gu, " ");
        const before = `{\n  // ${comment}\n  text: ${JSON.stringify(text)},\n  gone: [1], // stays\n  kept: "yes",\n}\n`;
        const file = read(before);
        file.delete(["gone"]);
        expect(file.text).toBe(before.replace("gone: [1], //", " //"));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["{ gone: 1 /* a, b */, kept: 2 }", "{  /* a, b */ kept: 2 }"],
    ["{ kept: 2, gone: 1 // a, b\n}", "{ kept: 2,  // a, b\n}"],
    ["{ gone: 1 // a, b\n  /* c */ , kept: 2 }", "{  // a, b\n  /* c */  kept: 2 }"],
    ["{ kept: [1], gone: {} /**/ /* , */ }", "{ kept: [1],  /**/ /* , */ }"],
  ])("takes the comma behind a value that is removed, and no comment: %j", (before, after) => {
    const file = read(before);
    expect([file.delete(["gone"]), file.text]).toEqual([true, after]);
    expect(JSON5.parse(after)).toHaveProperty("kept");
  });

  it("is refused where a key is written twice, since an edit of the first would be without effect", () => {
    const text = `{ gateway: { port: 1 }, list: [{ a: 1 }, { a: 1, b: { c: 1 }, 'a': 2 }] }`;
    expect(() => read(text)).toThrow(/ has list\[1\]\.a twice, and a gateway takes the last one/u);
    expect(() => read(String.raw`{ hooks: {}, "h\u006foks": {} }`)).toThrow(" has hooks twice");
    expect(read(`{ a: { b: 1 }, c: { b: 1 }, d: [{ b: 1 }, { b: 2 }], e: "a", f: { a: "b" } }`).get(["d"])).toEqual([
      { b: 1 },
      { b: 2 },
    ]);
  });

  it("says the same as a gateway of a text that is no JSON5", () => {
    expect(() => read("{ a: ")).toThrow("the configuration is not JSON5: invalid end of input at 1:6");
    expect(() => read("[]")).toThrow("the configuration is not an object");
  });
});
