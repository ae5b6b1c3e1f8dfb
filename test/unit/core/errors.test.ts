import { describe, expect, it } from "vitest";
import { ERRORS, IngressError, isIngressError, isRefusal, refuse } from "../../../src/core/errors.ts";
import type { ErrorCode } from "../../../src/core/errors.ts";

const ENTRIES = Object.entries(ERRORS) as [ErrorCode, (typeof ERRORS)[ErrorCode]][];
const codesOf = (status: number): string[] =>
  ENTRIES.flatMap(([code, entry]) => (entry.status === status ? [code] : []));

describe("the table of errors", () => {
  it("cannot be changed at run time", () => {
    expect(Object.isFrozen(ERRORS)).toBe(true);
    expect(ENTRIES.filter(([, entry]) => !Object.isFrozen(entry))).toEqual([]);
  });

  it.each<[number, readonly string[]]>([
    [401, ["UNAUTHORIZED"]],
    [403, ["DENIED"]],
    [404, ["NOT_FOUND", "DELIVERY_NOT_FOUND"]],
    [405, ["METHOD_NOT_ALLOWED"]],
    [408, ["BODY_TIMEOUT"]],
    [409, ["PAYLOAD_GONE"]],
    [413, ["BODY_TOO_LARGE"]],
    [415, ["UNSUPPORTED_ENCODING", "UNSUPPORTED_MEDIA_TYPE"]],
    [422, ["IDEMPOTENCY_CONFLICT"]],
    [429, ["TOO_MANY_FAILURES"]],
    [500, ["TRANSFORM_FAILED", "INTERNAL"]],
    [503, ["BUSY", "KEYS_UNAVAILABLE", "QUEUE_FULL", "STORE_UNAVAILABLE", "SHUTTING_DOWN", "NOT_READY"]],
  ])("spec 7: answers %d to %j", (status, codes) => {
    expect(codesOf(status)).toEqual(codes);
  });

  it("spec 7: answers 400 to everything else that is the caller's fault", () => {
    expect(codesOf(400)).toEqual([
      "TOKEN_IN_QUERY",
      "BODY_ABORTED",
      "INVALID_JSON",
      "INVALID_UTF8",
      "TOO_DEEP",
      "INVALID_PAYLOAD",
      "INVALID_IDEMPOTENCY_KEY",
      "INVALID_ACTION",
      "SESSION_KEY_DISABLED",
      "SESSION_KEY_PREFIX",
      "AGENT_NOT_ALLOWED",
      "MODEL_NOT_ALLOWED",
      "UNKNOWN_CHANNEL",
      "CALLBACK_NOT_ALLOWED",
    ]);
    const known = new Set([400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 503]);
    expect(ENTRIES.filter(([, { status }]) => !known.has(status))).toEqual([]);
  });

  it("says of every 408, 429 and 503 that the same request may succeed later, and of no refusal by rule", () => {
    for (const [code, { status, retryable }] of ENTRIES) {
      if ([408, 429, 503].includes(status)) expect([code, retryable]).toEqual([code, true]);
      if ([401, 403, 404, 405, 413, 415, 422].includes(status)) expect([code, retryable]).toEqual([code, false]);
    }
    expect(ERRORS.BODY_ABORTED.retryable).toBe(true);
    expect(ERRORS.INTERNAL.retryable).toBe(true);
    expect(ERRORS.TRANSFORM_FAILED.retryable).toBe(false);
  });

  it("has whole sentences, each for one code only", () => {
    const messages = ENTRIES.map(([, { message }]) => message);
    for (const message of messages) expect(message).toMatch(/^[A-Za-z][^\n]+[\w)>]\.$/);
    expect(new Set(messages).size).toBe(messages.length);
  });
});

describe("a refusal", () => {
  it("holds its code, and what was written for the caller", () => {
    expect(refuse("INVALID_PAYLOAD")).toEqual({ refused: "INVALID_PAYLOAD" });
    expect(refuse("INVALID_PAYLOAD", "text required.")).toEqual({
      refused: "INVALID_PAYLOAD",
      message: "text required.",
    });
    expect(refuse("QUEUE_FULL", undefined, { retryAfterSeconds: 5 })).toEqual({
      refused: "QUEUE_FULL",
      retryAfterSeconds: 5,
    });
  });

  it("differs from every result of a stage", () => {
    expect(isRefusal(refuse("DENIED"))).toBe(true);
    for (const result of [undefined, null, "DENIED", 0, {}, [], new Uint8Array(1), { kind: "wake" }, new Error("x")]) {
      expect(isRefusal(result)).toBe(false);
    }
  });
});

describe("an IngressError", () => {
  it("has a code, and the table's message unless it is given another", () => {
    expect(new IngressError("QUEUE_FULL")).toMatchObject({
      name: "IngressError",
      code: "QUEUE_FULL",
      message: ERRORS.QUEUE_FULL.message,
    });
    const cause = new Error("disk");
    expect(new IngressError("INTERNAL", "It broke.", { cause })).toMatchObject({ message: "It broke.", cause });
  });

  it("is recognized by its brand, also when it comes from another copy of the package", () => {
    expect(isIngressError(new IngressError("INTERNAL"))).toBe(true);
    const foreign = Object.assign(new Error("x"), { [Symbol.for("reveille.IngressError")]: true });
    expect(isIngressError(foreign)).toBe(true);
  });

  it("is not taken for one by its name alone", () => {
    const impostor = Object.assign(new Error("x"), { name: "IngressError", code: "INTERNAL" });
    for (const value of [impostor, null, undefined, "IngressError"]) expect(isIngressError(value)).toBe(false);
  });
});
