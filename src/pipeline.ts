/**
 * THE MAP: the way of one request, top to bottom. This is the only file that knows the order.
 *
 * A stage returns what the next ones work on, or a refusal, which ends the request. Nothing before
 * `accept` leaves a trace, and no 2xx is given before `accept` has returned.
 */
import type { IncomingMessage } from "node:http";
import type { RequestHead } from "./delivery.ts";
import { isRefusal } from "./errors.ts";
import type { Refusal } from "./errors.ts";
import type { Generation } from "./generation.ts";
import { answerRefusal } from "./http/respond.ts";
import type { Answer } from "./http/respond.ts";
import { accept } from "./stages/accept.ts";
import { authenticate } from "./stages/authenticate.ts";
import { body } from "./stages/body.ts";
import { edge } from "./stages/edge.ts";
import type { Arrival } from "./stages/edge.ts";
import { filter } from "./stages/filter.ts";
import { greet, handshake } from "./stages/handshake.ts";
import { observe } from "./stages/ingress-context.ts";
import type { IngressContext } from "./stages/ingress-context.ts";
import { parse } from "./stages/parse.ts";
import { policy } from "./stages/policy.ts";
import { render } from "./stages/render.ts";
import { resolve } from "./stages/resolve.ts";
import { respond } from "./stages/respond.ts";
import { callOf, verify } from "./stages/verify.ts";

/** Answers one request under the hooks' prefix. Rejects only on a defect. */
export async function answerRequest(
  ingress: IngressContext,
  generation: Generation,
  req: IncomingMessage,
): Promise<Answer> {
  const arrival = edge(ingress, generation, req);
  if (isRefusal(arrival)) return answerRefusal(arrival);
  try {
    const answer = await carryThrough(ingress, generation, arrival);
    return isRefusal(answer) ? answerRefusal(answer) : answer;
  } finally {
    ingress.unverifiedBytes.release(arrival.heldBytes);
    ingress.inFlight.leave();
  }
}

async function carryThrough(
  ingress: IngressContext,
  generation: Generation,
  arrival: Arrival,
): Promise<Answer | Refusal> {
  const credential = await authenticate(ingress, generation, arrival);
  if (isRefusal(credential)) return credential;

  const received = await body(ingress, generation, arrival);
  if (isRefusal(received)) return received;
  await observe<RequestHead>(ingress.host, ingress.hooks.received, received.request);

  const call = callOf(arrival, received.request.body);
  const greeting = await greet(ingress, arrival, call);
  if (greeting) return greeting;

  const request = await verify(ingress, generation, arrival, { request: received.request, call, credential });
  if (isRefusal(request)) return request;

  const challenge = await handshake(ingress, arrival, call);
  if (challenge) return challenge;

  const parsed = parse(request, { accept: received.rules.accept, maxDepth: generation.config.maxDepth });
  if (isRefusal(parsed)) return parsed;

  const resolved = await resolve(ingress, generation, arrival, request, parsed);
  if (isRefusal(resolved)) return resolved;

  const missed = filter(resolved);
  const rendered = missed ?? (await render(ingress, generation, resolved));
  if (isRefusal(rendered)) return rendered;

  const specs = await policy(ingress, generation, resolved, rendered.actions);
  if (isRefusal(specs)) return specs;

  const { ended } = rendered;
  const accepted = await accept(ingress, generation, { request, parsed, resolved, specs, ended });
  if (isRefusal(accepted)) return accepted;

  return respond(resolved, accepted);
}
