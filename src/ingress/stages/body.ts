import type { SenderMatch } from "../../auth/sender-routes.ts";
import { refuse, isRefusal } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import { declaredLength, readBody } from "../../http/read-body.ts";
import type { BodyRules } from "../../mapping/index-mappings.ts";
import type { RawRequest } from "../../core/delivery.ts";
import type { RequestContext } from "./edge.ts";
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
  const { bodyTimeoutMs } = active.config;
  const bytes = await readBody(request.req, { maxBytes: rules.maxBodyBytes, timeoutMs: bodyTimeoutMs });
  if (isRefusal(bytes)) return bytes;
  return { raw: { ...active.readHead(request.req, request), body: bytes }, rules };
}

/**
 * A signature needs the body, so unverified callers can send bodies too: the budget bounds large ones, and
 * `maxInFlight` bounds the number of ordinary ones.
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

const EVERY_FORMAT: BodyRules["accept"] = ["json", "form", "text"];
