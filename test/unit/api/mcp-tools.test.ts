import { expect, it } from "vitest";
import { textForClient } from "../../../src/api/mcp-tools.ts";
import { ApiQueryError } from "../../../src/api/request.ts";
import { StoreError } from "../../../src/index.ts";

it.each([
  [new ApiQueryError("limit is too large."), "limit is too large."],
  [new StoreError("INVALID", "The store's own words."), "cursor is not one that this list gave out."],
  [new StoreError("UNAVAILABLE", "disk I/O error"), "The gateway's database cannot be read; try again later."],
  [new StoreError("CLOSED", "It is closed."), "The gateway's database cannot be read; try again later."],
])("an MCP client is told of %s what a caller of the API is told", (error, text) => {
  expect(textForClient(error)).toBe(text);
});

it.each([new StoreError("STALE", "The waits are not as they were."), new TypeError("x is not a function")])(
  "an MCP client is told nothing of %s, which is a defect",
  (error) => {
    expect(textForClient(error)).toBeUndefined();
  },
);
