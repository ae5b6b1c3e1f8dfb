import { describe, expect, it } from "vitest";
import { OPERATOR_ERRORS } from "../../src/core/errors.ts";
import { ERRORS } from "../../src/index.ts";
import type { ErrorCode } from "../../src/index.ts";
import { readDocPage } from "./doc-blocks.ts";
import { tableRows } from "./table-rows.ts";

const { text } = readDocPage("docs/operate/errors.md");
const [ofHooks, ofGateway] = text.split("\n## What the embedded gateway itself answers\n") as [string, string];

describe("docs/operate/errors.md, src/core/errors.ts and the exported type", () => {
  it("have the same codes, each with the same status, message and whether it can be tried again", () => {
    const shown = tableRows(ofHooks).map(([code, status, again, message]) => [
      code,
      { status: Number(status), retryable: again === "yes", message, audience: "sender" },
    ]);
    expect(Object.fromEntries(shown)).toEqual(ERRORS);
    expect(shown).toHaveLength(Object.keys(ERRORS).length);
  });

  it("have the codes in the same order, that of the stages", () => {
    const codes = tableRows(ofHooks).map(([code]) => code as ErrorCode);
    expect(codes).toEqual(Object.keys(ERRORS) satisfies string[]);
  });

  it("say what to do about each", () => {
    for (const row of tableRows(ofHooks)) expect(row[4]?.length, `${row[0]} has advice`).toBeGreaterThan(10);
  });

  it("have the gateway's own errors as they are", () => {
    const shown = tableRows(ofGateway).map(([code, status, again, message]) => [
      code,
      { status: Number(status), retryable: again === "yes", message, audience: "operator" },
    ]);
    expect(Object.fromEntries(shown)).toEqual(OPERATOR_ERRORS);
  });
});
