import type { SenderMatch } from "../../auth/sender-routes.ts";
import { refuse, isRefusal } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import { type BodyLimits, declaredLength, readBody } from "../../http/read-body.ts";
import type { BodyRules } from "../../mapping/index-mappings.ts";
import type { RawRequest } from "../../core/delivery.ts";
import { admitUnverified, type RequestContext } from "./edge.ts";
import type { IngressContext } from "../context.ts";
import { isDirect } from "../request-head.ts";

/** The raw request, and the body rules of its route. */
export interface ReceivedBody {
  readonly raw: RawRequest;
  readonly rules: BodyRules;
}

/** Reads the exact bytes, bounded in size and time; if no hook can match the path, the body is not read. */
export async function body(
  ingress: IngressContext,
  active: ActiveConfig,
  request: RequestContext,
): Promise<ReceivedBody | Refusal> {
  const rules = bodyRules(active, request.sender, request.target.path);
  if (!rules) return refuse("NOT_FOUND");
  if (request.sender && !holdBytes(ingress, active, request, rules.maxBodyBytes)) return refuse("BUSY");
  const bytes = await readBody(request.req, limitsOf(ingress, active, request, rules.maxBodyBytes));
  if (isRefusal(bytes)) return bytes;
  return { raw: { ...active.readHead(request.req, request), body: bytes }, rules };
}

/** The least time that a body may take whose sender is not verified, and its least rate in bytes a millisecond. */
const UNVERIFIED_MIN_MS = 5_000;
const UNVERIFIED_BYTES_PER_MS = 64;

/** A body whose sender is not verified yet has less time, and a place of its own from its first byte on. */
function limitsOf(
  ingress: IngressContext,
  { config }: ActiveConfig,
  request: RequestContext,
  maxBytes: number,
): BodyLimits {
  const { bodyTimeoutMs } = config;
  if (!request.sender) return { maxBytes, timeoutMs: bodyTimeoutMs };
  const expected = Math.min(declaredLength(request.req), maxBytes);
  return {
    maxBytes,
    timeoutMs: Math.min(bodyTimeoutMs, UNVERIFIED_MIN_MS + expected / UNVERIFIED_BYTES_PER_MS),
    onFirstByte: () => admitUnverified(ingress, request),
  };
}

/**
 * A signature needs the body, so unverified callers can send bodies too: the budget bounds large ones, and
 * their places bound the number of ordinary ones.
 */
function holdBytes(
  ingress: IngressContext,
  { config }: ActiveConfig,
  request: RequestContext,
  maxBodyBytes: number,
): boolean {
  const declared = declaredLength(request.req);
  const bytes = Math.min(declared, maxBodyBytes);
  if (bytes <= config.maxBodyBytes) return true;
  if (!ingress.unverifiedBytes.reserve(bytes)) return false;
  request.heldBytes = bytes;
  return true;
}

/** The body rules of a path; `undefined` when no hook can match it. */
export function bodyRules(active: ActiveConfig, sender: SenderMatch | undefined, path: string): BodyRules | undefined {
  if (sender) return active.mappings.bodyRulesOn(sender.route.path);
  if (path === "") return undefined;
  const ordinary: BodyRules = { maxBodyBytes: active.config.maxBodyBytes, accept: [] };
  if (isDirect(path)) return ordinary;
  const configured = active.mappings.bodyRules(path);
  if (configured || !active.hooks.resolve.isUsed()) return configured;
  // A plugin's mapping is known only after parsing.
  return { ...ordinary, accept: EVERY_FORMAT };
}

const EVERY_FORMAT: BodyRules["accept"] = ["json", "form", "multipart", "text"];
