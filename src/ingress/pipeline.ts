/**
 * THE MAP: the way of one request, top to bottom. This is the only file that knows the order.
 *
 * A stage returns what the next ones work on, or a refusal, which ends the request. Nothing before
 * `accept` leaves a trace, and no 2xx is given before `accept` has returned.
 */
import type { IncomingMessage } from "node:http";
import type { RequestHead } from "../core/delivery.ts";
import { isRefusal, refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import type { ActiveConfig } from "./active-config.ts";
import { answerRefusal } from "../http/answer.ts";
import type { Answer } from "../http/answer.ts";
import { accept } from "./stages/accept.ts";
import { authenticate } from "./stages/authenticate.ts";
import { body } from "./stages/body.ts";
import type { Accepted } from "./commit.ts";
import { status } from "./delivery-state.ts";
import { edge, release } from "./stages/edge.ts";
import type { RequestContext } from "./stages/edge.ts";
import { filter } from "./stages/filter.ts";
import { answerUnsignedChallenge, handshake } from "./stages/handshake.ts";
import { observe } from "./context.ts";
import type { IngressContext } from "./context.ts";
import { parse } from "./stages/parse.ts";
import { policy } from "./stages/policy.ts";
import { render } from "./stages/render.ts";
import type { Rendered } from "./stages/render.ts";
import { readStored, repeatRuns, replayMembers, storedCall } from "./replay.ts";
import type { Replayed, VerifiedCall } from "./replay.ts";
import type { Replayable } from "../storage/delivery-store.ts";
import type { RequestFacts } from "./request-log.ts";
import { resolve } from "./stages/resolve.ts";
import { respond } from "./stages/respond.ts";
import { callOf, verify } from "./stages/verify.ts";
import { wait } from "./stages/wait.ts";
import type { Waiting } from "./stages/wait.ts";

/** Answers one request under the hooks' prefix. Rejects only on a defect. */
export async function answerRequest(
  ingress: IngressContext,
  generation: ActiveConfig,
  req: IncomingMessage,
  facts: RequestFacts,
): Promise<Answer> {
  const arrival = edge(ingress, generation, req, facts);
  if (isRefusal(arrival)) return refused(facts, arrival);
  try {
    const answer = await carryThrough(ingress, generation, arrival);
    return isRefusal(answer) ? refused(facts, answer) : answer;
  } finally {
    release(ingress, arrival);
  }
}

function refused(facts: RequestFacts, refusal: Refusal): Answer {
  facts.code = refusal.refused;
  return answerRefusal(refusal);
}

async function carryThrough(
  ingress: IngressContext,
  generation: ActiveConfig,
  arrival: RequestContext,
): Promise<Answer | Refusal> {
  const credential = await authenticate(generation, arrival);
  if (isRefusal(credential)) return credential;

  const { sender, facts, statusOf } = arrival;
  facts.route = statusOf === undefined ? arrival.target.path : "deliveries";
  if (statusOf !== undefined) return status(ingress, statusOf, credential);

  const received = await body(ingress, generation, arrival);
  if (isRefusal(received)) return received;
  await observe<RequestHead>(ingress.host, generation.hooks.received, received.request);

  const call = callOf(arrival, received.request.body);
  const greeting = await answerUnsignedChallenge(arrival, call);
  if (greeting) return greeting;

  const request = await verify(generation, arrival, { request: received.request, call, credential });
  if (isRefusal(request)) return request;

  const challenge = await handshake(arrival, call);
  if (challenge) return challenge;

  const { accept: formats } = received.rules;
  const taken = await takeIn(ingress, generation, { request, sender, accept: formats, replayOf: undefined, facts });
  if (isRefusal(taken)) return taken;
  return conclude(ingress, generation, arrival, taken);
}

/** The part of the way that a request and a replay have in common: from the bytes to the delivery on disk. */
async function takeIn(
  ingress: IngressContext,
  generation: ActiveConfig,
  { request, sender, accept: formats, replayOf, facts }: VerifiedCall,
): Promise<Waiting | Refusal> {
  const parsed = parse(request, { accept: formats, maxDepth: generation.config.maxDepth });
  if (isRefusal(parsed)) return parsed;

  const resolved = await resolve(generation, { sender }, request, parsed);
  if (isRefusal(resolved)) return resolved;

  if (facts) facts.actor = resolved.context.actor?.name;

  const missed = filter(resolved);
  const rendered = missed ?? (await render(ingress, generation, request, resolved));
  if (isRefusal(rendered)) return rendered;

  const specs = await policy(ingress, generation, resolved, rendered.actions);
  if (isRefusal(specs)) return specs;

  const accepted = await accept(ingress, generation, { request, parsed, resolved, rendered, specs, replayOf });
  if (isRefusal(accepted)) return accepted;

  if (facts) {
    facts.deliveryId = accepted.deliveryId;
    facts.state = accepted.isRepeat ? "duplicate" : (accepted.ended ?? "queued");
  }

  if (rendered.failure && !accepted.isRepeat)
    return replayOf === undefined ? rendered.failure : toldToOperator(rendered, accepted);
  return { resolved, accepted, wait: rendered.wait };
}

/** A caller is not told why a transform failed; an operator is. */
function toldToOperator({ failure, ended }: Rendered, { deliveryId }: Accepted): Refusal {
  return refuse(failure?.refused ?? "TRANSFORM_FAILED", `${ended?.reason} It is kept as ${deliveryId}.`);
}

function conclude(
  ingress: IngressContext,
  generation: ActiveConfig,
  arrival: RequestContext,
  taken: Waiting,
): Answer | Promise<Answer> {
  const waited = wait(ingress, generation, arrival, taken);
  if (waited) return waited.then((result) => result ?? respond(taken.resolved, taken.accepted));
  return respond(taken.resolved, taken.accepted);
}

/**
 * Makes a new delivery of one that is stored: of its bytes by today's configuration or, `asAccepted`, of
 * its runs as they were accepted. Nobody is asked again who sent it, and what its sender would repeat is
 * no repeat here. By today's configuration the calls that were coalesced into its run come after it, each
 * as a call of its own; a refusal of the first one is the answer for all.
 */
export async function replayDelivery(
  ingress: IngressContext,
  generation: ActiveConfig,
  deliveryId: string,
  { asAccepted }: { readonly asAccepted: boolean },
): Promise<Replayed | Refusal> {
  generation.transforms.enter();
  try {
    return await replayStored(ingress, generation, deliveryId, { asAccepted });
  } finally {
    generation.transforms.leave();
  }
}

async function replayStored(
  ingress: IngressContext,
  generation: ActiveConfig,
  deliveryId: string,
  { asAccepted }: { readonly asAccepted: boolean },
): Promise<Replayed | Refusal> {
  const stored = await readStored(ingress, deliveryId);
  if (isRefusal(stored)) return stored;
  const own = asAccepted
    ? await repeatRuns(ingress, generation, deliveryId, stored)
    : await replayBytes(ingress, generation, deliveryId, stored);
  if (isRefusal(own)) return own;

  const rest = await replayMembers(asAccepted ? [] : stored.members, async (memberId) => {
    const member = await readStored(ingress, memberId);
    return isRefusal(member) ? member : replayBytes(ingress, generation, memberId, member);
  });
  return { own, ...rest };
}

async function replayBytes(
  ingress: IngressContext,
  generation: ActiveConfig,
  deliveryId: string,
  stored: Replayable,
): Promise<Accepted | Refusal> {
  const call = storedCall(ingress, generation, deliveryId, stored);
  if (isRefusal(call)) return call;
  const taken = await takeIn(ingress, generation, call);
  return isRefusal(taken) ? taken : taken.accepted;
}
