import { describe, expect, it } from "vitest";
import { callerError } from "../../../../src/dispatch/run/caller-error.ts";

const UPSTREAM = "error: Incorrect API key provided: sk-abc";

describe("the error of a run as its caller reads it", () => {
  it.each([
    ["error", "RUN_FAILED"],
    ["interrupted", "RUN_FAILED"],
    [undefined, "RUN_FAILED"],
    ["timeout", "RUN_TIMED_OUT"],
    ["aborted", "RUN_ABORTED"],
    ["ok", "REPLY_NOT_DELIVERED"],
  ] as const)(
    "a failed run whose last attempt is %s has the code %s and nothing of the endpoint's text",
    (status, code) => {
      const shown = callerError({ state: "failed", reason: UPSTREAM }, status);
      expect(shown).toEqual({ code, error: expect.stringMatching(/^The agent.*\.$/) });
      expect(shown!.error).not.toContain("sk-abc");
    },
  );

  it.each([
    ["canceled", "RUN_CANCELED"],
    ["skipped", "RUN_SKIPPED"],
  ] as const)("a %s run shows the gateway's own reason", (state, code) => {
    expect(callerError({ state, reason: "canceled by the operator" }, "error")).toEqual({
      code,
      error: "canceled by the operator",
    });
    expect(callerError({ state, reason: null }, undefined)).toMatchObject({ code, error: expect.any(String) });
  });

  it("a run that is done has none", () => {
    expect(callerError({ state: "done", reason: "not delivered" }, "ok")).toBeUndefined();
  });
});
