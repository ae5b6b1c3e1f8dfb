import type { IncomingRequest } from "../../auth/verifier.ts";
import type { HandshakeAnswer } from "../../auth/handshake/handshake.ts";
import { refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Answer } from "../../http/answer.ts";
import type { RequestContext } from "./edge.ts";
import type { RequestFacts } from "../request-log.ts";

/**
 * Answers unsigned challenges before verification, in their exact shape only; every other request must
 * be verified.
 */
export function answerUnsignedChallenge(
  { sender, facts }: RequestContext,
  call: IncomingRequest | undefined,
): Answer | undefined | Promise<Answer | undefined> {
  if (!sender || !call) return undefined;
  return answerTo(facts, sender.route.handshakes.unverified(call));
}

/**
 * Answers signed challenges; none of them reaches an agent or the store. A method that carries no events
 * is refused for anything else.
 */
export function handshake(
  { sender, facts }: RequestContext,
  call: IncomingRequest | undefined,
): Answer | Refusal | undefined | Promise<Answer | Refusal | undefined> {
  if (!sender || !call) return undefined;
  const answer = answerTo(facts, sender.route.handshakes.verified(call));
  const orRefusal = (found: Answer | undefined): Answer | Refusal | undefined => {
    if (found || sender.route.eventMethods.has(call.method)) return found;
    return { ...refuse("METHOD_NOT_ALLOWED"), allow: [...sender.route.eventMethods].join(", ") };
  };
  return answer instanceof Promise ? answer.then(orRefusal) : orRefusal(answer);
}

type Recognized = HandshakeAnswer | undefined;

function answerTo(
  facts: RequestFacts,
  recognized: Recognized | Promise<Recognized>,
): Answer | undefined | Promise<Answer | undefined> {
  if (recognized === undefined) return undefined;
  if (recognized instanceof Promise) return recognized.then((later) => answerTo(facts, later));
  facts.handshake = recognized.name;
  return recognized.answer;
}
