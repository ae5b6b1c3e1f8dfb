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
import { render } from "./stages/render.ts";
import { resolve } from "./stages/resolve.ts";
import { respond } from "./stages/respond.ts";
import { signedRequest, verify } from "./stages/verify.ts";
import type { VerifiedCall } from "./stages/verify.ts";
import { wait } from "./stages/wait.ts";
import type { AcceptedCall } from "./stages/wait.ts";

/** Answers one request under the hooks' prefix. Rejects only on a defect. */
export async function answerRequest(
  ingress: IngressContext,
  active: ActiveConfig,
  req: IncomingMessage,
  facts: RequestFacts,
): Promise<Answer> {
  const answer = await answerAdmitted(ingress, active, req, facts);
  return facts.code === "TOO_MANY_FAILURES" ? ingress.heldAnswers.hold(answer, req.socket) : answer;
}

async function answerAdmitted(
  ingress: IngressContext,
  active: ActiveConfig,
  req: IncomingMessage,
  facts: RequestFacts,
): Promise<Answer> {
  const request = edge(ingress, active, req, facts);
  if (isRefusal(request)) return refused(facts, request);
  try {
    const answer = await handle(ingress, active, request);
    return isRefusal(answer) ? refused(facts, answer) : answer;
  } finally {
    release(ingress, request);
  }
}

async function handle(
  ingress: IngressContext,
  active: ActiveConfig,
  request: RequestContext,
): Promise<Answer | Refusal> {
  const credential = await authenticate(active, request);
  if (isRefusal(credential)) return credential;

  const { sender, facts, statusOf } = request;
  facts.route = statusOf === undefined ? request.target.path : "deliveries";
  if (statusOf !== undefined) return status(ingress, statusOf, credential);

  const received = await body(ingress, active, request);
  if (isRefusal(received)) return received;
  const { raw, rules } = received;
  await observe(ingress.host, active.hooks.received, raw);

  const signed = signedRequest(request, raw.body);
  const unsignedAnswer = await answerUnsignedChallenge(request, signed);
  if (unsignedAnswer) return unsignedAnswer;

  const verified = await verify(active, request, { raw, signed, credential });
  if (isRefusal(verified)) return verified;
  const busy = admitVerified(ingress, request);
  if (busy) return busy;

  const signedAnswer = await handshake(request, signed);
  if (signedAnswer) return signedAnswer;

  const call = await acceptVerified(ingress, active, { verified, sender, accept: rules.accept, facts });
  return isRefusal(call) ? call : answerCall(ingress, active, request, call);
}

/** The stages before `accept`: nothing is stored, so that a preview goes through them too. */
export async function judgeVerified(
  ingress: IngressContext,
  active: ActiveConfig,
  { verified, sender, accept: formats, facts }: VerifiedCall,
): Promise<Pick<Accepting, "payload" | "resolved" | "rendered" | "specs"> | Refusal> {
  const payload = parse(verified, { accept: formats, maxDepth: active.config.maxDepth });
  if (isRefusal(payload)) return payload;

  const resolved = await resolve(active, { sender }, verified, payload);
  if (isRefusal(resolved)) return resolved;
  if (facts) facts.actor = resolved.context.actor?.name;

  const missed = filter(resolved);
  const rendered = missed ?? (await render(ingress, active, verified, resolved));
  if (isRefusal(rendered)) return rendered;

  const specs = await policy(ingress, active, resolved, rendered.actions);
  return isRefusal(specs) ? specs : { payload, resolved, rendered, specs };
}

/** The stages that a request and a replay have in common: from the bytes to the delivery on disk. */
export async function acceptVerified(
  ingress: IngressContext,
  active: ActiveConfig,
  call: VerifiedCall,
): Promise<AcceptedCall | Refusal> {
  const judged = await judgeVerified(ingress, active, call);
  if (isRefusal(judged)) return judged;
  const { resolved, rendered } = judged;
  const { verified, replayOf, facts } = call;

  const delivery = await accept(ingress, active, { verified, replayOf, ...judged });
  if (isRefusal(delivery)) return delivery;
  facts?.accepted(delivery);

  const { failure, ended } = rendered;
  if (!failure || delivery.isRepeat) return { resolved, delivery, wait: rendered.wait };
  // An operator who replays learns why the transform failed; a caller does not.
  if (replayOf === undefined) return failure;
  return refuse(failure.refused, `${ended?.reason} It is kept as ${delivery.deliveryId}.`);
}

async function answerCall(
  ingress: IngressContext,
  active: ActiveConfig,
  request: RequestContext,
  call: AcceptedCall,
): Promise<Answer> {
  const result = await wait(ingress, active, request, call);
  if (result) return result;
  return respond(call.resolved, call.delivery);
}

function refused(facts: RequestFacts, refusal: Refusal): Answer {
  facts.code = refusal.refused;
  return answerRefusal(refusal);
}
