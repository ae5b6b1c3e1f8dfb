/** One attempt at an agent run, as the host is asked for it: the extraction, if the run has one, and the agent's turn. */
import type { AgentActivity } from "../../core/agent-rights.ts";
import type { AgentRunResult } from "../../core/host.ts";
import type { TokenUsage } from "../../core/token-usage.ts";
import type { ActiveRun, DispatchContext } from "../context.ts";
import { canaryOf } from "../gateway-key.ts";
import { agentPrompt } from "./agent-prompt.ts";
import { type NotBegun, runTurn } from "./agent-turn.ts";
import { extract, extractedBefore } from "./extraction.ts";

/** One attempt that is being made. */
export interface OpenAttempt {
  readonly number: number;
  /** True when an earlier one was interrupted by the end of the process. */
  readonly interrupted: boolean;
  readonly startedAt: number;
}

/** What the turn came to; `before` is what the stage before it did. */
export type AttemptOutcome = (AgentRunResult | NotBegun) & { readonly before?: StageBefore | undefined };

export interface StageBefore {
  readonly activity?: readonly AgentActivity[] | undefined;
  readonly usage?: TokenUsage | undefined;
}

export async function runAttempt(
  context: DispatchContext,
  run: ActiveRun,
  attempt: OpenAttempt,
): Promise<AttemptOutcome> {
  const { stored, spec, extraction } = run;
  if (spec.extract === undefined) return runAgent(context, run, attempt, { timeoutMs: spec.timeoutMs });
  const startMs = performance.now();
  const id = `${stored.runId}-a${attempt.number}`;
  const made = extractedBefore(stored.attempts) ?? (await extract(context, run, spec.extract, id));
  if (!("content" in made)) return made;
  extraction.content = made.content;
  const { content, ...before } = made;
  const timeoutMs = Math.max(1, Math.round(spec.timeoutMs - (performance.now() - startMs)));
  return { ...(await runAgent(context, run, attempt, { timeoutMs, content })), before };
}

/** `content` is what the agent is given in place of the text. */
function runAgent(
  { key, host: { agents }, beginRetry: begin }: DispatchContext,
  { stored, spec, chain, ending, checkOutgoing }: ActiveRun,
  { number, interrupted, startedAt }: OpenAttempt,
  { timeoutMs, content }: { readonly timeoutMs: number; readonly content?: string },
): Promise<AgentRunResult | NotBegun> {
  const { runId, coalesced } = stored;
  const { agentId, sessionKey, model, thinking, tools, sessionMode, traceparent } = spec;
  const { instructions, permissions, egress, workspace, level } = spec;
  const prompt = agentPrompt(spec, {
    now: new Date(startedAt),
    interrupted,
    coalesced,
    canary: canaryOf(key, runId),
    mark: chain.mark,
    extracted: content,
  });
  const request = {
    runId: `${runId}-a${number}`,
    agentId,
    sessionKey,
    sessionMode,
    prompt,
    instructions,
    trust: "untrusted" as const,
    permissions,
    egress,
    workspace,
    model,
    thinking,
    tools,
    traceparent,
    checkOutgoing,
    level,
    chain,
    timeoutMs,
  };
  return runTurn({ timeoutMs, run: (control) => agents.run({ ...request, ...control }) }, { ending, begin });
}
