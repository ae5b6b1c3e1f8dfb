import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { lowerLevel } from "../../../src/core/level.ts";
import { markComment, readMark, writeMark } from "../../../src/core/chain.ts";

const KEY = createSecretKey(Buffer.alloc(32, 1));
const ID = "dlv_00000001efa3940586553376";
const mark = writeMark(KEY, { id: ID, depth: 2, level: "known" });

describe("the mark of a run", () => {
  it("is known again in HTML, in JSON, in a header and between other words", () => {
    const known = { id: ID, depth: 2, level: "known" };
    expect(readMark(KEY, markComment(mark))).toEqual(known);
    expect(readMark(KEY, JSON.stringify({ body: `x\n${markComment(mark)}` }).replaceAll("<", "\\u003c"))).toEqual(
      known,
    );
    expect(readMark(KEY, `Reveille-Chain: ${mark}\r\n`)).toEqual(known);
  });

  it("is worth nothing when it is changed in any part, or comes from another gateway", () => {
    expect(readMark(createSecretKey(Buffer.alloc(32, 2)), mark)).toBeUndefined();
    for (const [from, to] of [
      [".2.1.", ".1.1."],
      [".2.1.", ".2.3."],
      ["dlv_00000001", "dlv_00000002"],
    ] as const) {
      expect(mark).toContain(from);
      expect(readMark(KEY, mark.replace(from, to))).toBeUndefined();
    }
    for (let at = mark.length - 32; at < mark.length; at++) {
      const other = mark[at] === "0" ? "1" : "0";
      expect(readMark(KEY, mark.slice(0, at) + other + mark.slice(at + 1))).toBeUndefined();
    }
  });

  it("is the deepest one of several", () => {
    const deeper = writeMark(KEY, { id: ID, depth: 3, level: "unknown" });
    expect(readMark(KEY, `${mark} ${deeper} ${mark}`)).toMatchObject({ depth: 3 });
  });

  it("lowers a level and never raises one", () => {
    expect(lowerLevel("owner", "unknown")).toBe("unknown");
    expect(lowerLevel("unknown", "owner")).toBe("unknown");
  });
});
