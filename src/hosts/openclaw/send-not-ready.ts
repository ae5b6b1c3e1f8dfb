import type { IncomingMessage, ServerResponse } from "node:http";
import { refuse } from "../../core/errors.ts";
import { answerRefusal } from "../../http/answer.ts";
import { sendAnswer } from "../../http/send-answer.ts";

/** Answers a call that came before its plugin was ready, or while it cannot be. */
export function sendNotReady(req: IncomingMessage, res: ServerResponse): void {
  sendAnswer(req, res, answerRefusal(refuse("NOT_READY")));
}
