import type { Credential, PayloadFormat, RunSpec, VerifiedRequest } from "../delivery.ts";
import type { SenderMatch } from "../auth/sender-routes.ts";
import { refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import type { Replayable } from "../store/delivery-store.ts";
import type { NewRun } from "../store/new-delivery.ts";
import { bodyRules } from "./body.ts";
import { commit } from "./commit.ts";
import type { Accepted } from "./commit.ts";
import type { IngressContext } from "./ingress-context.ts";
import { storeRefusal } from "./store-refusal.ts";
import { vouched } from "./verify.ts";

/** A verified request on its way to being accepted. */
export interface VerifiedCall {
  readonly request: VerifiedRequest;
  /** The route of a sender who proves who it is in a way of its own. */
  readonly sender: SenderMatch | undefined;
  /** What the route takes besides JSON. */
  readonly accept: readonly PayloadFormat[];
  /** The delivery that it is a replay of. */
  readonly replayOf: string | undefined;
}

const OPERATOR: Credential = Object.freeze({ scheme: "replay", id: "replay" });

/** What was stored of a delivery. */
export async function readStored(ingress: IngressContext, deliveryId: string): Promise<Replayable | Refusal> {
  try {
    return (await ingress.store.replayable(deliveryId)) ?? refuse("DELIVERY_NOT_FOUND");
  } catch (error) {
    return storeRefusal(error, ingress, "a delivery could not be read for its replay");
  }
}

/**
 * Makes a call of the stored bytes, as if it came now: its sender was verified when it came, and what a
 * copy of it would be recognized by does not count.
 */
export function storedCall(
  ingress: IngressContext,
  generation: Generation,
  replayOf: string,
  { route: path, headers, query, body }: Replayable,
): VerifiedCall | Refusal {
  if (body === null) return refuse("PAYLOAD_GONE");
  const sender = senderOn(generation, path);
  const rules = bodyRules(ingress, generation, sender, path);
  if (!rules) return refuse("NOT_FOUND");
  const receivedAt = ingress.host.clock.now();
  const raw = { method: "POST", path, query, headers, clientAddress: "unknown", receivedAt, body };
  return { request: vouched(raw, OPERATOR), sender, accept: rules.accept, replayOf };
}

/** The route of a stored path, whose last segment is gone when it was a secret. */
function senderOn({ senders }: Generation, path: string): SenderMatch | undefined {
  return [path, `${path}/-`].map((each) => senders.find(each)).find((match) => match?.route.path === path);
}

/**
 * Accepts what was accepted before once more: the same agents, sessions, texts and targets, in the same
 * lanes, whatever the configuration says today. They wait for no call and give way to none.
 */
export async function repeatRuns(
  ingress: IngressContext,
  generation: Generation,
  replayOf: string,
  stored: Replayable,
): Promise<Accepted | Refusal> {
  const { route, mappingId, name, headers, query, body, event, sender } = stored;
  if (stored.runs.length === 0) return refuse("PAYLOAD_GONE", "This delivery has no runs that could be repeated.");
  if (stored.runs.some(({ spec }) => textOf(spec) === "")) {
    return refuse("PAYLOAD_GONE", "The texts of this delivery's runs are not kept any more.");
  }
  const runs = stored.runs.map(({ lane, spec }): NewRun => ({ lane, spec: { ...spec, coalesce: undefined } }));
  const specs = runs.map(({ spec }) => spec);
  return commit(
    ingress,
    generation,
    {
      receivedAt: ingress.host.clock.now(),
      route,
      mappingId,
      name,
      headers,
      query,
      body: body ?? new Uint8Array(),
      event,
      sender,
      credentialId: null,
      runs,
      replayOf,
    },
    specs,
  );
}

function textOf(spec: RunSpec): string {
  return spec.kind === "wake" ? spec.text : spec.message;
}
