/** The answers of the API besides success. */
import type { ServerResponse } from "node:http";
import { answerJson } from "../http/answer.ts";
import type { Answer, AnswerHeaders } from "../http/answer.ts";
import { sendAnswer } from "../http/send-answer.ts";

export interface ApiErrorEntry {
  readonly status: number;
  /** Written for the caller. */
  readonly message: string;
}

/** Code -> status and sentence. What hooks answer is in the table of `errors.ts`. */
export const API_ERRORS = Object.freeze({
  INVALID_QUERY: errorEntry(400, "The query of the request is not valid."),
  NOT_FOUND: errorEntry(404, "There is nothing under this path."),
  METHOD_NOT_ALLOWED: errorEntry(405, "This path does not take the method."),
  WRONG_STATE: errorEntry(409, "The state of the delivery does not allow this."),
  STORE_UNAVAILABLE: errorEntry(503, "The gateway's database cannot be read; try again later."),
});

export type ApiErrorCode = keyof typeof API_ERRORS;

export interface ErrorAnswerOptions {
  /** Replaces the table's sentence; written for the caller. */
  readonly message?: string;
  /** Lower-case names. */
  readonly headers?: AnswerHeaders;
}

export function errorEntry(status: number, message: string): ApiErrorEntry {
  return Object.freeze({ status, message });
}

/** The answer for an entry of this table or of another. */
export function answerEntry(code: string, entry: ApiErrorEntry, { message, headers }: ErrorAnswerOptions = {}): Answer {
  return answerJson(entry.status, errorBody(code, message ?? entry.message), headers);
}

/** The answer with an error of the table. */
export function answerError(code: ApiErrorCode, options?: ErrorAnswerOptions): Answer {
  return answerEntry(code, API_ERRORS[code], options);
}

/** Answers with an error of the table. */
export function sendApiError(res: ServerResponse, code: ApiErrorCode, options?: ErrorAnswerOptions): void {
  sendAnswer(res.req, res, answerError(code, options));
}

export function errorBody(code: string, error: string): object {
  return { ok: false, error, code };
}
