import { refuse, isRefusal } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import { readBody } from "../http/read-body.ts";
import type { BodyRules } from "../mapping/mapping-index.ts";
import type { RawRequest } from "../delivery.ts";
import type { Arrival } from "./edge.ts";
import type { IngressContext } from "./ingress-context.ts";
import { isDirect } from "./resolve.ts";

/** The raw request, and what its route takes. */
export interface ReceivedBody {
  readonly request: RawRequest;
  readonly rules: BodyRules;
}

/** Reads the exact bytes, bounded in size and time; a path without any hook is not read at all. */
export async function body(
  ingress: IngressContext,
  generation: Generation,
  arrival: Arrival,
): Promise<ReceivedBody | Refusal> {
  const rules = rulesFor(ingress, generation, arrival.target.path);
  if (!rules) return refuse("NOT_FOUND");
  const { bodyTimeoutMs } = generation.config;
  const bytes = await readBody(arrival.req, { maxBytes: rules.maxBodyBytes, timeoutMs: bodyTimeoutMs });
  if (isRefusal(bytes)) return bytes;
  return { request: { ...generation.readHead(arrival.req, arrival), body: bytes }, rules };
}

function rulesFor(ingress: IngressContext, generation: Generation, path: string): BodyRules | undefined {
  if (path === "") return undefined;
  const ordinary: BodyRules = { maxBodyBytes: generation.config.maxBodyBytes, accept: [] };
  if (isDirect(path)) return ordinary;
  const configured = generation.mappings.bodyRules(path);
  if (configured || !ingress.hooks.resolve.isUsed()) return configured;
  // What a plugin's mapping takes is known once it owns the request.
  return { ...ordinary, accept: EVERY_FORMAT };
}

const EVERY_FORMAT: BodyRules["accept"] = ["json", "form", "text"];
