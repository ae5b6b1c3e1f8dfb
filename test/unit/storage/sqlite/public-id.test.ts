import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cursorOf,
  deliveryId,
  newTag,
  parseCursor,
  parseDeliveryId,
  parseRunId,
  runId,
  runIds,
} from "../../../../src/storage/sqlite/public-id.ts";

const MAX_SEQ = 2 ** 41 - 2;
const tags = fc.stringMatching(/^[0-9a-f]{16}$/u);
const seqs = fc.integer({ min: 1, max: MAX_SEQ });

describe("public ids", () => {
  it("come back as the keys they were packed from", () => {
    fc.assert(
      fc.property(seqs, tags, fc.integer({ min: 0, max: 4095 }), (seq, tag, index) => {
        const run = seq * 4096 + index;
        expect(parseDeliveryId(deliveryId(seq, tag))).toEqual({ seq, tag });
        expect(parseRunId(runId(run, tag))).toEqual({ seq, tag, run });
        expect(parseCursor(cursorOf(seq))).toBe(seq);
      }),
    );
  });

  it("sort as their keys", () => {
    fc.assert(
      fc.property(seqs, seqs, tags, tags, (left, right, tag, other) => {
        fc.pre(left !== right);
        expect(deliveryId(left, tag) < deliveryId(right, other)).toBe(left < right);
      }),
    );
  });

  it("are read in one spelling only", () => {
    const tag = "0123456789abcdef";
    const spellings = [
      "",
      "dlv_",
      ` ${deliveryId(7, tag)}`,
      deliveryId(7, tag).toUpperCase(),
      deliveryId(7, tag).replace("0000007", "000007!"),
      deliveryId(MAX_SEQ + 1, tag),
      `${deliveryId(7, tag)}0`,
    ];
    for (const id of spellings) expect({ id, key: parseDeliveryId(id) }).toEqual({ id, key: undefined });
    const [run] = runIds(7, tag, 1);
    for (const end of ["", "_", "_00", "_-0", "_1.5", "_1e2", "_0x1", "_4096", "_Infinity", "_0 ", "0"]) {
      const id = run!.slice(0, -2) + end;
      expect({ id, key: parseRunId(id) }).toEqual({ id, key: undefined });
    }
  });

  it("are never read from arbitrary text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseDeliveryId(text)).toBeUndefined();
        expect(parseRunId(text)).toBeUndefined();
      }),
    );
  });

  it("numbers the runs of a delivery", () => {
    expect(runIds(35, "0123456789abcdef", 3)).toEqual(
      [0, 1, 2].map((index) => `run_0000000z0123456789abcdef_${index}`),
    );
    expect(runIds(35, "0123456789abcdef", 0)).toEqual([]);
  });

  it("carry tags of which no two are alike", () => {
    const drawn = new Set(Array.from({ length: 5000 }, newTag));
    expect(drawn.size).toBe(5000);
    for (const tag of drawn) expect(tag).toMatch(/^[0-9a-f]{16}$/u);
  });
});
