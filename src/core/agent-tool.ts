/** A tool of the gateway itself that an agent may be given, beside those of its own. */
import type { CarriedRights } from "./agent-rights.ts";

export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of what it takes. */
  readonly input: object;
  /** The host has asked the agent's rights before. Rejects only on a defect. */
  readonly call: (user: ToolUser, input: unknown) => Promise<ToolAnswer>;
}

/** The turn that uses the tool. */
export interface ToolUser {
  readonly agentId: string;
  readonly sessionKey: string;
  /** {@link "./host".AgentRunRequest.runId}; absent: the turn is one of a conversation. */
  readonly runId?: string | undefined;
  /** What is left to it by the texts that it reads. */
  readonly rights: CarriedRights;
}

/** `problem` is in words for the agent. */
export type ToolAnswer = { readonly result: object } | { readonly problem: string };
