/** A model on its own: no tools, no session, no words of the agent, and no transcript. */
import type { ExtractionRequest } from "../../../core/extraction.ts";
import type { Logger } from "../../../core/host.ts";
import type { AgentConfig, GatewayConfig } from "../config/file.ts";
import { quoteReference, type ResolvedModel, resolveModel } from "./model-endpoint.ts";
import { DEFAULT_MODEL_TURN_LIMITS, runModelTurn } from "./model-turn.ts";
import type { ModelOutcome } from "./turn.ts";

export interface ExtractionTurn extends Pick<
  ExtractionRequest,
  "runId" | "model" | "instructions" | "prompt" | "schema" | "maxReplyChars" | "traceparent" | "signal"
> {
  readonly agent: AgentConfig;
  /** True: the provider was down, and one request shows whether it still is. */
  readonly isProbe: boolean;
}

/** The model that an agent's extractions ask, or why there is none, in words for the owner. */
export function extractionModel(
  config: GatewayConfig,
  agent: AgentConfig,
  written: string | undefined,
): ResolvedModel | { readonly problem: string; readonly isSetAside?: true } {
  const reference = written ?? agent.model;
  if (reference === undefined) {
    return {
      problem: `The agent ${agent.id} has no model that could fill the form: write model, or give the agent one.`,
    };
  }
  const { allowedModels } = config.agents;
  const isAllowed = allowedModels?.some(({ ref, alias }) => ref === written || alias === written);
  if (written !== undefined && isAllowed === false) {
    return { problem: `The model ${quoteReference(written)} is not in agents.defaults.models.` };
  }
  return resolveModel(config, reference);
}

export async function runExtraction(
  config: GatewayConfig,
  {
    agent,
    model: written,
    runId,
    instructions,
    prompt,
    schema,
    maxReplyChars,
    isProbe,
    traceparent,
    signal,
  }: ExtractionTurn,
  logger: Logger,
): Promise<ModelOutcome> {
  const model = extractionModel(config, agent, written);
  if ("problem" in model) return { error: model.problem };
  const limits = { ...DEFAULT_MODEL_TURN_LIMITS, maxReplyChars };
  return runModelTurn(
    {
      model,
      systemPrompt: instructions,
      messages: [{ role: "user", text: prompt }],
      thinking: undefined,
      replySchema: schema,
      traceparent,
      signal,
      of: { agentId: agent.id, runId },
    },
    { logger, limits: isProbe ? { ...limits, retryDelaysMs: [] } : limits },
  );
}
