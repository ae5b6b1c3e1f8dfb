import type { PayloadContext } from "../../core/delivery.ts";
import { refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import { isDirect } from "../request-head.ts";
import { readMediaType, unsupportedTypeMessage } from "../../http/media-type.ts";
import type { CompiledMapping } from "../../mapping/compile-mapping.ts";
import { SET_ASIDE } from "./edge.ts";
import { sourceOf } from "../../mapping/index-mappings.ts";
import { readEvent } from "../../presets/read-event.ts";
import type { SenderMatch } from "../../auth/sender-routes.ts";
import type { Parsed } from "./parse.ts";
import type { VerifiedRequest } from "./verify.ts";

/** The route that turns a request into actions: a fixed one, or a mapping. */
export type Route = "wake" | "agent" | CompiledMapping;

/** The route of a request, and what the route's preset knows of it. */
export interface Resolved {
  readonly route: Route;
  readonly context: PayloadContext;
  /** See {@link Parsed}. */
  readonly bodyPayload?: unknown;
  /** True on a path where the sender proves who it is in a way of its own. */
  readonly ofSender: boolean;
  /** The sender's id for this delivery. */
  readonly deliveryId: string | undefined;
  /** Why the request is not for the route after all. */
  readonly miss: string | undefined;
}

/**
 * Finds the route; the first mapping that matches owns the request, also when it then refuses it. A
 * path with a sender of its own belongs to its own mappings alone, and a verified event that none of
 * them takes is a miss: senders give up on hooks that answer 404.
 */
export function resolve(
  active: ActiveConfig,
  { sender }: { readonly sender: SenderMatch | undefined },
  request: VerifiedRequest,
  parsed: Parsed,
): Resolved | Refusal | Promise<Resolved | Refusal> {
  const { context, bodyPayload } = parsed;
  if (isDirect(request.path)) {
    return { route: request.path, context, bodyPayload, ofSender: false, deliveryId: undefined, miss: undefined };
  }
  const mapping = sender
    ? active.mappings.resolveOn(sender.route.path, context.payload)
    : resolveAnywhere(active, request, context);
  const fit = (found: CompiledMapping | undefined): Resolved | Refusal =>
    fitMapping(active, found, { request, parsed, ofSender: sender !== undefined });
  return mapping instanceof Promise ? mapping.then(fit) : fit(mapping);
}

const OTHER_SOURCE = "no mapping of this path takes the payload's source";

function fitMapping(
  active: ActiveConfig,
  mapping: CompiledMapping | undefined,
  call: { readonly request: VerifiedRequest; readonly parsed: Parsed; readonly ofSender: boolean },
): Resolved | Refusal {
  const { request, ofSender } = call;
  const { context, format, bodyPayload } = call.parsed;
  if (!mapping) return refuse("NOT_FOUND");
  if (mapping.config.broken !== undefined) return refuse("NOT_READY", SET_ASIDE);
  const { maxBodyBytes, accept } = active.mappings.rulesOf(mapping);
  if (request.body.length > maxBodyBytes) return refuse("BODY_TOO_LARGE");
  if (format !== "json" && !accept.includes(format)) {
    return refuse("UNSUPPORTED_MEDIA_TYPE", unsupportedTypeMessage(readMediaType(request.headers["content-type"])));
  }
  const recognized = recognize(mapping, context);
  const miss = matchesSource(mapping, context.payload) ? recognized.miss : OTHER_SOURCE;
  return { ...recognized, miss, bodyPayload, ofSender };
}

function resolveAnywhere(
  { mappings, hooks }: ActiveConfig,
  request: VerifiedRequest,
  context: PayloadContext,
): CompiledMapping | undefined | Promise<CompiledMapping | undefined> {
  const mapping = mappings.resolve(request.path, context.payload);
  if (mapping || !hooks.resolve.isUsed()) return mapping;
  return hooks.resolve.promise(context);
}

/** The mapping's part of a request that it takes, whatever its `match` says. */
export function recognize(mapping: CompiledMapping, given: PayloadContext): Omit<Resolved, "ofSender" | "bodyPayload"> {
  const { preset, config } = mapping;
  if (!preset) return { route: mapping, context: given, deliveryId: undefined, miss: undefined };
  const { context: read, authors, deliveryId, skip } = readEvent(preset, given, config.settings);
  const context = read.actor && mapping.rank ? { ...read, actor: mapping.rank(read.actor, authors) } : read;
  return { route: mapping, context, deliveryId, miss: skip };
}

function matchesSource({ config: { match } }: CompiledMapping, payload: unknown): boolean {
  return !match.source || sourceOf(payload) === match.source;
}
