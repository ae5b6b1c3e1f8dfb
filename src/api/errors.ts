/** The answers of the operator API besides success. */
import type { ServerResponse } from "node:http";
import { OPERATOR_ERRORS, type OperatorErrorCode } from "../core/errors.ts";
import { answerJson } from "../http/answer.ts";
import type { Answer, AnswerHeaders } from "../http/answer.ts";
import { sendAnswer } from "../http/send-answer.ts";

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
