import { describe, expect, test } from "vitest";
import { ERRORS, refuse } from "../../../src/core/errors.ts";
import type { ErrorCode } from "../../../src/core/errors.ts";
import { answerEmpty, answerJson, answerRefusal, answerText } from "../../../src/http/answer.ts";

const CODES = Object.keys(ERRORS) as ErrorCode[];

describe("answers", () => {
  test("with JSON declare type, length in bytes, and that they are neither stored nor sniffed", () => {
    expect(answerJson(202, { ok: true, name: "é" })).toEqual({
      status: 202,
      headers: {
        "content-type": "application/json; charset=utf-8",
        "content-length": 23,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
      payload: '{"ok":true,"name":"é"}',
    });
  });

  test("with text are sent as they are", () => {
    const answer = answerText(200, "challenge-é");
    expect(answer.payload).toBe("challenge-é");
    expect(answer.headers).toMatchObject({ "content-type": "text/plain; charset=utf-8", "content-length": 12 });
  });

  test("without content declare no type; 204 no length either", () => {
    expect(answerEmpty(204)).toEqual({
      status: 204,
      headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
      payload: "",
    });
    expect(answerEmpty(200).headers).toMatchObject({ "content-length": 0 });
  });

  test("take further headers, which may replace those given", () => {
    const headers = { "x-a": "1", "cache-control": "private" };
    for (const answer of [answerJson(200, {}, headers), answerText(200, "", headers), answerEmpty(200, headers)]) {
      expect(answer.headers).toMatchObject({ ...headers, "x-content-type-options": "nosniff" });
    }
  });
});

describe("spec 7: answers to refusals", () => {
  test.each(CODES)("spec 7: %s has the status and the sentence of the table", (code) => {
    const answer = answerRefusal(refuse(code));
    expect(answer.status).toBe(ERRORS[code].status);
    expect(JSON.parse(answer.payload)).toEqual({ ok: false, error: ERRORS[code].message, code });
    expect(answer.headers["content-length"]).toBe(Buffer.byteLength(answer.payload));
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  });

  test.each(CODES)("%s carries the headers that its status asks for, and no others of them", (code) => {
    const { headers, status } = answerRefusal(refuse(code));
    expect(headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
    expect(headers["allow"]).toBe(status === 405 ? "POST" : undefined);
    if (status === 429 || status === 503) expect(headers["retry-after"]).toBeGreaterThanOrEqual(1);
    else expect(headers).not.toHaveProperty("retry-after");
  });

  test("a message written for the caller replaces the sentence", () => {
    const answer = answerRefusal(refuse("INVALID_PAYLOAD", "text required"));
    expect(JSON.parse(answer.payload)).toEqual({ ok: false, error: "text required", code: "INVALID_PAYLOAD" });
    expect(JSON.parse(answerRefusal(refuse("INVALID_PAYLOAD")).payload)).toMatchObject({
      error: ERRORS.INVALID_PAYLOAD.message,
    });
  });

  test.each([
    [60, 60],
    [0.2, 1],
    [0, 1],
    [-5, 1],
    [29.001, 30],
  ])("spec 5.5: Retry-After of %d seconds is sent as %d", (seconds, sent) => {
    const refusal = refuse("TOO_MANY_FAILURES", undefined, { retryAfterSeconds: seconds });
    expect(answerRefusal(refusal).headers["retry-after"]).toBe(sent);
  });

  test("a full queue is worth a longer wait than a busy moment", () => {
    expect(answerRefusal(refuse("BUSY")).headers["retry-after"]).toBe(1);
    expect(answerRefusal(refuse("QUEUE_FULL")).headers["retry-after"]).toBe(5);
    expect(answerRefusal(refuse("STORE_UNAVAILABLE")).headers["retry-after"]).toBe(5);
  });

  test("a gateway that shuts down closes the connection", () => {
    expect(answerRefusal(refuse("SHUTTING_DOWN")).headers["connection"]).toBe("close");
  });

  test("an answer that never changes is made once", () => {
    expect(answerRefusal(refuse("NOT_FOUND"))).toBe(answerRefusal(refuse("NOT_FOUND")));
  });
});
