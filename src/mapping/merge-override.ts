import type { Action, AgentAction, WakeAction } from "../delivery.ts";
import { refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";

/** What a transform returned, seen as data. */
type Override = Readonly<Record<string, unknown>>;

/**
 * Lays a transform's result over the mapping's own action, field by field.
 *
 * A falsy result changes nothing (`null` never comes here: it skips the request). Another `kind`
 * drops the fields of the mapping's kind. `text` and `message` count only as strings, `deliver` and
 * `allowUnsafeExternalContent` only as booleans, a mode only as `next-heartbeat`; the other texts
 * override as strings or finite numbers (chat ids often are numbers), an empty string meaning absent.
 * A session key counts as taken from the payload unless the transform says `sessionKeySource: "static"`.
 */
export function mergeOverride(base: Action, result: unknown): Action | Refusal {
  if (!result) return base;
  if (typeof result !== "object" || Array.isArray(result))
    return notAnAction("it has to return an object, null or undefined");
  const override = result as Override;
  const kind = own(override, "kind") ?? base.kind;
  if (kind === "wake") return mergeWake(base, override);
  if (kind === "agent") return mergeAgent(base, override);
  return notAnAction('its kind has to be "wake" or "agent"');
}

function notAnAction(reason: string): Refusal {
  return refuse("TRANSFORM_FAILED", `The transform of this hook returned no action: ${reason}.`);
}

function mergeWake(base: Action, override: Override): WakeAction {
  const mapped = base.kind === "wake" ? base : undefined;
  return {
    kind: "wake",
    ...mergeShared(base, override),
    text: ifString(override, "text") ?? mapped?.text ?? "",
    mode: own(override, "mode") === "next-heartbeat" ? "next-heartbeat" : (mapped?.mode ?? "now"),
  };
}

function mergeAgent(base: Action, override: Override): AgentAction {
  const mapped = base.kind === "agent" ? base : undefined;
  const later = own(override, "wakeMode") === "next-heartbeat";
  return {
    kind: "agent",
    ...mergeShared(base, override),
    ...mergeSessionKey(mapped, override),
    message: ifString(override, "message") ?? mapped?.message ?? "",
    wakeMode: later ? "next-heartbeat" : (mapped?.wakeMode ?? "now"),
    deliver: ifBoolean(override, "deliver") ?? mapped?.deliver ?? true,
    channel: text(override, "channel", mapped?.channel) ?? "last",
    to: text(override, "to", mapped?.to),
    model: text(override, "model", mapped?.model),
    thinking: text(override, "thinking", mapped?.thinking),
    timeoutSeconds: ifPositive(override, "timeoutSeconds") ?? mapped?.timeoutSeconds,
    ...(mapped?.mode === undefined ? {} : { mode: mapped.mode }),
    ...(mapped?.fallback === undefined ? {} : { fallback: mapped.fallback }),
  };
}

function mergeShared(base: Action, override: Override) {
  return {
    name: text(override, "name", base.name),
    agentId: text(override, "agentId", base.agentId),
    allowUnsafeExternalContent: ifBoolean(override, "allowUnsafeExternalContent") ?? base.allowUnsafeExternalContent,
  };
}

function mergeSessionKey(
  mapped: AgentAction | undefined,
  override: Override,
): Pick<AgentAction, "sessionKey" | "sessionKeySource"> {
  if (!isText(own(override, "sessionKey"))) {
    return { sessionKey: mapped?.sessionKey, sessionKeySource: mapped?.sessionKeySource };
  }
  const isStatic = own(override, "sessionKeySource") === "static";
  return {
    sessionKey: text(override, "sessionKey", undefined),
    sessionKeySource: isStatic ? "static" : "request",
  };
}

function own(override: Override, field: string): unknown {
  return Object.hasOwn(override, field) ? override[field] : undefined;
}

/** A field that overrides as text. */
function text(override: Override, field: string, mapped: string | undefined): string | undefined {
  const value = own(override, field);
  return isText(value) ? String(value).trim() || undefined : mapped;
}

function isText(value: unknown): value is string | number {
  return typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
}

function ifString(override: Override, field: string): string | undefined {
  const value = own(override, field);
  return typeof value === "string" ? value : undefined;
}

function ifBoolean(override: Override, field: string): boolean | undefined {
  const value = own(override, field);
  return typeof value === "boolean" ? value : undefined;
}

function ifPositive(override: Override, field: string): number | undefined {
  const value = own(override, field);
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}
