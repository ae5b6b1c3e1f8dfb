/** The answers of the operator API besides success. */
import type { ServerResponse } from "node:http";
import { OPERATOR_ERRORS, type OperatorErrorCode } from "../core/errors.ts";
import { answerJson } from "../http/answer.ts";
import type { Answer, AnswerHeaders } from "../http/answer.ts";
import { sendAnswer } from "../http/send-answer.ts";
import { StoreError } from "../storage/delivery-store.ts";
import { ApiQueryError, UNKNOWN_CURSOR } from "./request.ts";

export interface ErrorAnswerOptions {
  /** Replaces the table's sentence; written for the caller. */
  readonly message?: string;
  /** Lower-case names. */
  readonly headers?: AnswerHeaders;
}

/** The answer with an error of the operator's table. */
export function answerError(code: OperatorErrorCode, { message, headers }: ErrorAnswerOptions = {}): Answer {
  const entry = OPERATOR_ERRORS[code];
  return answerJson(entry.status, { ok: false, error: message ?? entry.message, code }, headers);
}

/** Answers with an error of the operator's table. */
export function sendError(res: ServerResponse, code: OperatorErrorCode, options?: ErrorAnswerOptions): void {
  sendAnswer(res.req, res, answerError(code, options));
}

export interface KnownFailure extends ErrorAnswerOptions {
  readonly code: OperatorErrorCode;
}

/** What a caller is told about an error; `undefined`: it is a defect, which is logged. */
export function knownFailure(error: unknown): KnownFailure | undefined {
  if (error instanceof ApiQueryError) return { code: "INVALID_QUERY", message: error.message };
  if (!(error instanceof StoreError)) return undefined;
  if (error.code === "INVALID") return { code: "INVALID_QUERY", message: UNKNOWN_CURSOR };
  const isOut = error.code === "UNAVAILABLE" || error.code === "CLOSED";
  return isOut ? { code: "STORE_UNAVAILABLE", headers: { "retry-after": 1 } } : undefined;
}
