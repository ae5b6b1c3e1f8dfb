import type { IncomingMessage, ServerResponse } from "node:http";
import { refuse } from "../errors.ts";
import { answerRefusal } from "../http/respond.ts";
import { sendAnswer } from "../http/send-answer.ts";

/** Answers a call that came before its plugin was ready, or while it cannot be. */
export function sendNotReady(req: IncomingMessage, res: ServerResponse): void {
  sendAnswer(req, res, answerRefusal(refuse("NOT_READY")));
}
