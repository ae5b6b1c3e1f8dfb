import type { Credential } from "../delivery.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import type { Arrival } from "./edge.ts";
import type { IngressContext } from "./ingress-context.ts";

/** Asks who vouches for the request, before any byte of its body is read. */
export function authenticate(
  ingress: IngressContext,
  generation: Generation,
  arrival: Arrival,
): Credential | Refusal | Promise<Credential | Refusal> {
  const { req, clientAddress } = arrival;
  if (!ingress.hooks.authenticate.isUsed()) return generation.authenticate(req, clientAddress);
  return askTaps(ingress, generation, arrival);
}

/** Taps are asked before the token, so that a sender they know costs its address no failure. */
async function askTaps(
  ingress: IngressContext,
  generation: Generation,
  { req, target, clientAddress }: Arrival,
): Promise<Credential | Refusal> {
  const credential = await ingress.hooks.authenticate.promise({
    method: req.method ?? "",
    path: target.path,
    query: target.query,
    headers: req.headers,
    clientAddress,
  });
  return credential ?? generation.authenticate(req, clientAddress);
}
