import type { VerifiedRequest } from "../delivery.ts";
import { refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import { readMediaType, untakenType } from "../http/media-type.ts";
import type { CompiledMapping } from "../mapping/compile-mapping.ts";
import type { IngressContext } from "./ingress-context.ts";
import type { Parsed } from "./parse.ts";

/** What a request is turned into actions by: one of the two fixed routes, or a mapping. */
export type Route = "wake" | "agent" | CompiledMapping;

/** True for the two fixed routes, which no mapping can take. */
export function isDirect(path: string): path is "wake" | "agent" {
  return path === "wake" || path === "agent";
}

/** Finds the route; the first mapping that matches owns the request, also when it then refuses it. */
export async function resolve(
  ingress: IngressContext,
  generation: Generation,
  request: VerifiedRequest,
  { context, format }: Parsed,
): Promise<Route | Refusal> {
  if (isDirect(request.path)) return request.path;
  const { mappings } = generation;
  let mapping = mappings.resolve(request.path, context.payload);
  if (!mapping && ingress.hooks.resolve.isUsed()) mapping = await ingress.hooks.resolve.promise(context);
  if (!mapping) return refuse("NOT_FOUND");
  const { maxBodyBytes, accept } = mappings.rulesOf(mapping);
  if (request.body.length > maxBodyBytes) return refuse("BODY_TOO_LARGE");
  if (format === "json" || accept.includes(format)) return mapping;
  return refuse("UNSUPPORTED_MEDIA_TYPE", untakenType(readMediaType(request.headers["content-type"])));
}
