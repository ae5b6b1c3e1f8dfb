import type { Action, AgentAction, SessionMode, WakeAction } from "../core/delivery.ts";
import { isRefusal, type Refusal } from "../core/errors.ts";
import { type CallTransform, type TransformCall, TransformError } from "../transform/call.ts";
import { readResult, type TransformAction } from "../transform/result.ts";
import type { CompiledMapping } from "./compile-mapping.ts";
import { completeAction, renderAction } from "./render-action.ts";

/**
 * The actions that a mapping and its transform make of a call together; none: the call is skipped.
 *
 * The mapping's own action is rendered first, so that nothing a module does to the payload can change
 * it. Rejects with a {@link TransformError}.
 */
export async function transformActions(
  mapping: CompiledMapping,
  transform: CallTransform,
  call: TransformCall,
  options: { readonly maxActions: number },
): Promise<readonly Action[] | Refusal> {
  const base = renderAction(mapping, call.context);
  const actions: Action[] = [];
  for (const override of overridesOf(await transform(call), options)) {
    const action = completeAction(mergeOverride(base, override), mapping.config.id);
    if (isRefusal(action)) return action;
    actions.push(action);
  }
  return actions;
}

/** A result of this process may throw when it is looked at. */
function overridesOf(...args: Parameters<typeof readResult>): ReturnType<typeof readResult> {
  try {
    return readResult(...args);
  } catch (error) {
    if (error instanceof TransformError) throw error;
    throw new TransformError("failed", "returned something that throws when it is looked at", { cause: error });
  }
}

/**
 * Lays what a transform said of an action over the mapping's own, field by field; `undefined` changes
 * nothing.
 *
 * Another `kind` drops the fields of the mapping's kind. A mode counts only as `next-heartbeat`: a
 * transform cannot make it `now`. Numbers count as texts, and an empty text means absent. A session key
 * counts as taken from the payload unless the transform says `sessionKeySource: "static"`. What a result
 * inherits from a prototype does not count.
 */
export function mergeOverride(base: Action, override: TransformAction | undefined): Action {
  if (!override) return base;
  const kind = own(override, "kind") ?? base.kind;
  return kind === "wake" ? mergeWake(base, override) : mergeAgent(base, override);
}

function mergeWake(base: Action, override: TransformAction): WakeAction {
  const mapped = base.kind === "wake" ? base : undefined;
  return {
    kind: "wake",
    ...mergeShared(base, override),
    ...mergeSessionKey(mapped, override),
    text: ifString(override, "text") ?? mapped?.text ?? "",
    mode: own(override, "mode") === "next-heartbeat" ? "next-heartbeat" : (mapped?.mode ?? "now"),
  };
}

function mergeAgent(base: Action, override: TransformAction): AgentAction {
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
    sessionMode: ifSessionMode(override) ?? mapped?.sessionMode,
    ...(mapped?.mode === undefined ? {} : { mode: mapped.mode }),
    ...(mapped?.fallback === undefined ? {} : { fallback: mapped.fallback }),
    ...(mapped?.workspace === undefined ? {} : { workspace: mapped.workspace }),
  };
}

function mergeShared(base: Action, override: TransformAction) {
  return {
    name: text(override, "name", base.name),
    agentId: text(override, "agentId", base.agentId),
    allowUnsafeExternalContent: ifBoolean(override, "allowUnsafeExternalContent") ?? base.allowUnsafeExternalContent,
  };
}

function mergeSessionKey(
  mapped: Action | undefined,
  override: TransformAction,
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

function ifSessionMode(override: TransformAction): SessionMode | undefined {
  const value = own(override, "sessionMode");
  return value === "isolated" || value === "persistent" ? value : undefined;
}

function own(override: TransformAction, field: keyof TransformAction): unknown {
  return Object.hasOwn(override, field) ? override[field] : undefined;
}

/** A field that overrides as text. */
function text(override: TransformAction, field: keyof TransformAction, mapped: string | undefined): string | undefined {
  const value = own(override, field);
  return isText(value) ? String(value).trim() || undefined : mapped;
}

function isText(value: unknown): value is string | number {
  return typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
}

function ifString(override: TransformAction, field: keyof TransformAction): string | undefined {
  const value = own(override, field);
  return typeof value === "string" ? value : undefined;
}

function ifBoolean(override: TransformAction, field: keyof TransformAction): boolean | undefined {
  const value = own(override, field);
  return typeof value === "boolean" ? value : undefined;
}

function ifPositive(override: TransformAction, field: keyof TransformAction): number | undefined {
  const value = own(override, field);
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}
