import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printable, printableLines } from "../../../src/cli/terminal-text.ts";
import { textTable } from "../../../src/cli/text-table.ts";

describe("a text from outside", () => {
  it("brings no control character to the terminal, and no line of its own", () => {
    expect(printable("\u001B[31mred\u001B[0m\u0007")).toBe("�[31mred�[0m�");
    expect(printable("one\r\ntwo\tthree")).toBe("one  two three");
    expect(printable("abc\u202Edcba\u2066")).toBe("abc�dcba�");
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0x21_00 })), (units) => {
        const text = String.fromCharCode(...units);
        // oxlint-disable-next-line no-control-regex -- these are what must not be there
        expect(printable(text)).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/u);
      }),
    );
  });

  it("is cut at a whole character, and says so", () => {
    expect(printable("abcdef", 3)).toBe("abc…");
    expect(printable("abc", 3)).toBe("abc");
    expect(printable("a😀", 2)).toBe("a�…");
  });

  it("keeps its lines where it may have several", () => {
    expect(printableLines("a\r\nb\tc\u001Bd\n")).toBe("a\nb\tc�d\n");
  });
});

describe("a table", () => {
  it("has a head, no lines and no blanks at the ends", () => {
    expect(
      textTable(
        ["ID", "STATE", "WHY"],
        [
          ["dlv_1", "done", ""],
          ["dlv_20", "failed", "no model"],
        ],
      ),
    ).toBe(["ID      STATE   WHY", "dlv_1   done", "dlv_20  failed  no model", ""].join("\n"));
  });
});
