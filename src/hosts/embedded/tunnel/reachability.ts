/** Proves from the outside that a public URL leads to this gateway. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { sendError } from "../../../api/errors.ts";
import { methodOf } from "../../../api/router.ts";
import type { Clock } from "../../../core/host.ts";
import { answerJson } from "../../../http/answer.ts";
import { sendAnswer } from "../../../http/send-answer.ts";

/** Below the prefix of the hooks. */
export const REACHABILITY_PATH = "/.reveille-check";
const VALID_MS = 60_000;
const MAX_PENDING = 16;
const NONCE_BYTES = 24;

/** A question that only this gateway can answer. */
export interface ReachabilityCheck {
  /** Follows the public URL and the prefix of the hooks. */
  readonly path: string;
  /** The field `answer` of the answer. */
  readonly answer: string;
}

/** Gives out questions to who holds the gateway token, and answers them to everyone. */
export class Reachability {
  readonly #clock: Clock;
  readonly #pending = new Map<string, { readonly answer: string; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Good for a minute; of many the oldest is forgotten. */
  ask(): ReachabilityCheck {
    const [oldest] = this.#pending.keys();
    if (this.#pending.size >= MAX_PENDING && oldest !== undefined) this.#pending.delete(oldest);
    const [nonce, answer] = [randomText(), randomText()];
    this.#pending.set(nonce, { answer, until: this.#clock.now() + VALID_MS });
    return { path: `${REACHABILITY_PATH}/${nonce}`, answer };
  }

  handle(req: IncomingMessage, res: ServerResponse): void {
    const [path = ""] = (req.url ?? "").split("?", 1);
    const nonce = path.slice(path.lastIndexOf("/") + 1);
    const pending = methodOf(req) === "GET" ? this.#pending.get(nonce) : undefined;
    if (pending === undefined || pending.until < this.#clock.now()) sendError(res, "NOT_FOUND");
    else sendAnswer(req, res, answerJson(200, { ok: true, answer: pending.answer }));
  }
}

function randomText(): string {
  return randomBytes(NONCE_BYTES).toString("base64url");
}
