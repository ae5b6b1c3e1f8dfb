import { describe, expect, it } from "vitest";
import {
  cutPage,
  InvalidCursorError,
  pageSize,
  readCursor,
} from "../../../../../src/hosts/embedded/state/page-cursor.ts";
import { stateError } from "../../../../../src/hosts/shared/write-state.ts";
import { SqliteError } from "../../../../../src/storage/sqlite/engine/errors.ts";

describe("pages", () => {
  it.each([
    [50, 50],
    [0, 1],
    [-5, 1],
    [1_000, 200],
    [2.9, 2],
    [Number.NaN, 200],
  ])("a limit of %d makes pages of %i", (limit, size) => {
    expect(pageSize({ limit })).toBe(size);
  });

  it("give out cursors that they take back", () => {
    const rows = [[9, 1], [8, 2], [7, 3]] as const; // prettier-ignore
    const { page, nextCursor } = cutPage(rows, 2, (row) => row);
    expect(page).toEqual([
      [9, 1],
      [8, 2],
    ]);
    expect(readCursor({ limit: 2, cursor: nextCursor! }, 2)).toEqual([8, 2]);
  });

  it("end without a cursor", () => {
    expect(cutPage([1, 2], 2, (row) => [row])).toEqual({ page: [1, 2], nextCursor: null });
  });

  it.each(["", "x", "1.", ".1", "1.2", "-1", "1e3", "1".repeat(16), " 1", "1\n"])("refuse the cursor %j", (cursor) => {
    expect(() => readCursor({ limit: 1, cursor }, 1)).toThrow(InvalidCursorError);
  });
});

describe("a write that failed", () => {
  it.each([
    ["UNAVAILABLE", true],
    ["CLOSED", true],
    ["FAILED", false],
  ] as const)("with %s: is retryable: %s", (code, retryable) => {
    const cause = new SqliteError(code, "inner words");
    expect(stateError(cause, "The turn")).toMatchObject({
      message: `The turn could not be stored (${code}).`,
      retryable,
      cause,
    });
  });

  it("for an unknown reason is not retryable", () => {
    expect(stateError("odd", "The turn")).toMatchObject({ message: "The turn could not be stored.", retryable: false });
  });
});
