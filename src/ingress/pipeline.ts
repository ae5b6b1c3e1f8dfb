/**
 * THE MAP: one request from top to bottom. This is the only file that knows the order of the stages.
 *
 * A stage returns what the next ones need, or a refusal, which ends the request. Nothing is stored before
 * `accept`, and no 2xx is answered before `accept` has returned.
 */
import type { IncomingMessage } from "node:http";
import { isRefusal, refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import { answerRefusal } from "../http/answer.ts";
import type { Answer } from "../http/answer.ts";
import type { ActiveConfig } from "./active-config.ts";
import { observe } from "./context.ts";
import type { IngressContext } from "./context.ts";
import { status } from "./delivery-state.ts";
import type { RequestFacts } from "./request-log.ts";
import { accept, type Accepting } from "./stages/accept.ts";
import { authenticate } from "./stages/authenticate.ts";
import { body } from "./stages/body.ts";
import { admitVerified, edge, release } from "./stages/edge.ts";
import type { RequestContext } from "./stages/edge.ts";
import { filter } from "./stages/filter.ts";
import { answerUnsignedChallenge, handshake } from "./stages/handshake.ts";
import { parse } from "./stages/parse.ts";
import { policy } from "./stages/policy.ts";
import { answerProbe } from "./stages/probe.ts";
import { render } from "./stages/render.ts";
import { resolve, type Resolved } from "./stages/resolve.ts";
import { respond } from "./stages/respond.ts";
import { signedRequest, verify } from "./stages/verify.ts";
import type { VerifiedCall } from "./stages/verify.ts";
import { fulfil, replaced } from "./waits/fulfil.ts";
import { waitOfCall } from "./waits/make-wait.ts";
import type { WaitBook } from "./waits/wait-book.ts";
import { isStale } from "./commit.ts";
import { wait } from "./stages/wait.ts";
import type { AcceptedCall } from "./stages/wait.ts";

/** Answers one request under the hooks' prefix. Rejects only on a defect. */
export async function answerRequest(
  ingress: IngressContext,
  active: ActiveConfig,
  req: IncomingMessage,
  facts: RequestFacts,
): Promise<Answer> {
  const request = edge(ingress, active, req, facts);
  if (isRefusal(request)) return refused(facts, request);
  let answer: Answer | Refusal;
  try {
    answer = await handle(ingress, active, request);
  } finally {
    release(ingress, request);
  }
  if (!isRefusal(answer)) return answer;
  const refusal = refused(facts, answer);
  return facts.code === "TOO_MANY_FAILURES" ? ingress.heldAnswers.hold(refusal, req.socket) : refusal;
}

/**
 * A stage returns its result, and a promise only where a tap, a transform or a remote key makes one: each promise
 * that is awaited without need costs 0.3 to 0.5 of 60 us (`npm run bench -- calls`).
 */
async function handle(
  ingress: IngressContext,
  active: ActiveConfig,
  request: RequestContext,
): Promise<Answer | Refusal> {
  let credential = authenticate(active, request);
  if (credential instanceof Promise) credential = await credential;
  if (isRefusal(credential)) return credential;

  const { sender, facts, statusOf } = request;
  facts.route = statusOf === undefined ? request.target.path : "deliveries";
  if (statusOf !== undefined) return status(ingress, statusOf, credential);

  const received = await body(ingress, active, request);
  if (isRefusal(received)) return received;
  const { raw, rules } = received;
  const observed = observe(ingress.host, active.hooks.received, raw);
  if (observed) await observed;

  const signed = signedRequest(request, raw.body);
  let unsignedAnswer = answerUnsignedChallenge(request, signed);
  if (unsignedAnswer instanceof Promise) unsignedAnswer = await unsignedAnswer;
  if (unsignedAnswer) return unsignedAnswer;

  let verified = verify(active, request, { raw, signed, credential });
  if (verified instanceof Promise) verified = await verified;
  if (isRefusal(verified)) return verified;
  const busy = admitVerified(ingress, request);
  if (busy) return busy;

  let signedAnswer = handshake(request, signed);
  if (signedAnswer instanceof Promise) signedAnswer = await signedAnswer;
  if (signedAnswer) return signedAnswer;

  const verifiedCall = { verified, sender, accept: rules.accept, facts };
  if (ingress.probes.take(request.req)) return answerProbe(await judgeVerified(ingress, active, verifiedCall), facts);

  const call = await acceptVerified(ingress, active, verifiedCall);
  return isRefusal(call) ? call : answerCall(ingress, active, request, call);
}

type Joined = Resolved | Refusal | Promise<Resolved | Refusal>;
type Judged = Pick<Accepting, "payload" | "resolved" | "rendered" | "specs" | "fulfilment">;

/**
 * The stages before `accept`: nothing is stored, so that a preview goes through them too. Without `waits` the call is
 * not held against any.
 */
export async function judgeVerified(
  ingress: IngressContext,
  active: ActiveConfig,
  { verified, sender, accept: formats, facts }: VerifiedCall,
  waits?: WaitBook,
): Promise<Judged | Refusal> {
  const payload = parse(verified, { accept: formats, maxDepth: active.config.maxDepth });
  if (isRefusal(payload)) return payload;

  let routed = resolve(active, { sender }, verified, payload);
  if (routed instanceof Promise) routed = await routed;
  if (isRefusal(routed)) return routed;
  let resolved: Joined = ingress.chains?.join(active.config.chains, verified, routed) ?? routed;
  if (resolved instanceof Promise) resolved = await resolved;
  if (isRefusal(resolved)) return resolved;
  if (facts) {
    facts.actor = resolved.context.actor?.name;
    if (typeof resolved.route !== "string") facts.mapping = resolved.route.config.id;
  }

  const matched = waits && fulfil(ingress, active, waits, resolved);
  const fulfilment = matched && (await matched);
  const filtered = filter(resolved);
  const missed = replaced(fulfilment) ?? filtered;
  let rendered = missed ?? render(ingress, active, verified, resolved);
  if (rendered instanceof Promise) rendered = await rendered;
  if (isRefusal(rendered)) return rendered;

  let specs = policy(ingress, active, resolved, rendered.actions);
  if (specs instanceof Promise) specs = await specs;
  return isRefusal(specs) ? specs : { payload, resolved, rendered, specs, fulfilment };
}

/** The stages that a request and a replay have in common: from the bytes to the delivery on disk. */
export async function acceptVerified(
  ingress: IngressContext,
  active: ActiveConfig,
  call: VerifiedCall,
): Promise<AcceptedCall | Refusal> {
  for (let tries = 1; ; tries++) {
    const judged = await judgeVerified(ingress, active, call, ingress.waits);
    if (isRefusal(judged)) return judged;
    try {
      return await acceptJudged(ingress, active, call, judged);
    } catch (error) {
      if (!isStale(error)) throw error;
      if (tries === MAX_TRIES) return refuse("STORE_UNAVAILABLE");
      // Another call or gateway has changed a wait meanwhile: nothing is stored yet.
      await ingress.waits?.refresh({ all: tries > 1 });
    }
  }
}

/** Of a call that is held against the waits again: where gateways make a hundred waits a second, two of three tries fail. */
const MAX_TRIES = 32;

function acceptJudged(
  ingress: IngressContext,
  active: ActiveConfig,
  call: VerifiedCall,
  judged: Judged,
): Promise<AcceptedCall | Refusal> {
  const made = waitOfCall(ingress, active, judged);
  if (made === undefined) return storeJudged(ingress, active, call, judged);
  const { wait: added, rendered, specs } = made;
  return storeJudged(ingress, active, call, { ...judged, rendered, specs, added });
}

async function storeJudged(
  ingress: IngressContext,
  active: ActiveConfig,
  call: VerifiedCall,
  judged: Judged & Pick<Accepting, "added">,
): Promise<AcceptedCall | Refusal> {
  const { resolved, rendered } = judged;
  const { verified, replayOf, facts } = call;
  const delivery = await accept(ingress, active, { verified, replayOf, ...judged });
  if (isRefusal(delivery)) return delivery;
  facts?.accepted(delivery);
  const { approval } = rendered;
  // A copy, and a replay, of an event that approved approves nothing more.
  if (approval && delivery.isRepeat !== true && replayOf === undefined && typeof resolved.route !== "string") {
    const { deliveryId } = delivery;
    await ingress.approvals?.carryOut({ mappingId: resolved.route.config.id, object: approval, deliveryId });
  }

  const { failure, ended } = rendered;
  if (!failure || delivery.isRepeat) return { resolved, delivery, wait: rendered.wait };
  // An operator who replays learns why the transform failed; a caller does not.
  if (replayOf === undefined) return failure;
  return refuse(failure.refused, `${ended?.reason} It is kept as ${delivery.deliveryId}.`);
}

function answerCall(
  ingress: IngressContext,
  active: ActiveConfig,
  request: RequestContext,
  call: AcceptedCall,
): Answer | Promise<Answer> {
  const waiting = wait(ingress, active, request, call);
  if (waiting) return waiting.then((result) => result ?? respond(call.resolved, call.delivery));
  return respond(call.resolved, call.delivery);
}

function refused(facts: RequestFacts, refusal: Refusal): Answer {
  facts.code = refusal.refused;
  return answerRefusal(refusal);
}
