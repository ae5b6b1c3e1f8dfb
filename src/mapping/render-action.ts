import type { Action, AgentAction, PayloadContext, WakeAction } from "../core/delivery.ts";
import { type Refusal, refuse } from "../core/errors.ts";
import type { WorkspaceSpec } from "../core/agent-rights.ts";
import { showValue } from "../config/show-value.ts";
import { isSafeRef } from "../config/workspace.ts";
import type { CompiledMapping } from "./compile-mapping.ts";
import type { CompiledTemplate } from "./template.ts";

/**
 * Renders a mapping's own action. It may still lack its message or text: a transform can supply it,
 * and {@link completeAction} checks it afterwards.
 */
export function renderAction(mapping: CompiledMapping, context: PayloadContext): Action {
  const { config } = mapping;
  const shared = {
    name: optional(mapping.name, context),
    agentId: config.agentId,
    allowUnsafeExternalContent: config.allowUnsafeExternalContent,
  };
  const sessionKey = optional(mapping.sessionKey, context);
  const keySource = sessionKey === undefined || mapping.sessionKey.isStatic ? "static" : "request";
  if (config.action === "wake") {
    return {
      kind: "wake",
      ...shared,
      sessionKey,
      sessionKeySource: keySource,
      text: mapping.content.render(context),
      mode: config.wakeMode,
    } satisfies WakeAction;
  }
  return {
    kind: "agent",
    ...shared,
    message: mapping.content.render(context),
    sessionKey,
    sessionKeySource: keySource,
    wakeMode: config.wakeMode,
    deliver: config.deliver,
    channel: config.channel,
    to: optional(mapping.to, context),
    model: optional(mapping.model, context),
    thinking: optional(mapping.thinking, context),
    timeoutSeconds: config.timeoutSeconds,
    sessionMode: config.sessionMode,
    workspace: workspaceOf(mapping, context),
    ...(config.mode === "deliver" ? { mode: "deliver" } : {}),
    ...(config.fallback === undefined ? {} : { fallback: config.fallback }),
  } satisfies AgentAction;
}

function workspaceOf({ config, ref }: CompiledMapping, context: PayloadContext): WorkspaceSpec | undefined {
  const { workspace } = config;
  if (workspace?.git === undefined || ref === undefined) return workspace;
  return { git: { url: workspace.git.url, ref: ref.render(context).trim() } };
}

/** A rendered field that counts as absent when it is blank. */
function optional(template: CompiledTemplate, context: PayloadContext): string | undefined {
  return template.render(context).trim() || undefined;
}

/** Refuses an action that would wake an agent with nothing to read, or in a place that git could misread. */
export function completeAction(action: Action, mappingId: string): Action | Refusal {
  const [field, content] =
    action.kind === "wake" ? (["text", action.text] as const) : (["message", action.message] as const);
  const ref = action.kind === "agent" ? action.workspace?.git?.ref : undefined;
  if (ref !== undefined && !isSafeRef(ref)) {
    return refuse(
      "INVALID_ACTION",
      `The mapping "${mappingId}" requires a git ref of letters, digits, ".", "_", "/" and "-", and it came out as ${showValue(ref)} for this payload.`,
    );
  }
  if (content.trim() !== "") return action;
  return refuse(
    "INVALID_ACTION",
    `The mapping "${mappingId}" requires a ${field}, and it came out blank for this payload.`,
  );
}
