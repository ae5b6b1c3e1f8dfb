import { wrapUntrusted } from "../boundary/wrap-untrusted.ts";
import type { AgentSpec, WakeSpec } from "../delivery.ts";

/** What of an attempt the prompt tells the agent. */
export interface PromptFacts {
  readonly now: Date;
  /** True when an earlier attempt was under way when the process died. */
  readonly interrupted: boolean;
}

const INTERRUPTED =
  "Note: an earlier attempt at this run was interrupted when the gateway stopped, and it may already have taken effect. Before you repeat anything that cannot be undone, check whether it was done.";

/** The prompt of an agent run: the content inside the boundary, the gateway's own words outside. */
export function agentPrompt(spec: AgentSpec, facts: PromptFacts): string {
  const content = spec.unsafe
    ? `[hook ${spec.name}] ${spec.message}`
    : wrapUntrusted(spec.message, { source: spec.source, name: spec.name });
  return [
    ...(facts.interrupted ? [INTERRUPTED] : []),
    content,
    `Current time: ${facts.now.toISOString()}`,
    replyHint(spec),
  ].join("\n\n");
}

function replyHint(spec: AgentSpec): string {
  const { delivery } = spec;
  const reader =
    delivery && "channel" in delivery
      ? `Your reply is sent to ${delivery.channel} as plain text.`
      : "Your reply is kept as a summary and sent to nobody.";
  return `This run is unattended: nobody can answer questions. ${reader} If there is nothing to say, reply with exactly NO_REPLY.`;
}

/** The system event of a wake. */
export function wakeText(spec: WakeSpec): string {
  return spec.unsafe ? spec.text : wrapUntrusted(spec.text, { source: spec.source, name: spec.name });
}
