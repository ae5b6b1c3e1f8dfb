/** What a turn of any kind of agent is given, and what comes of it. */
import type { AgentActivity, Permissions, TextRights, WorkspaceSpec } from "../../../core/agent-rights.ts";
import type { CheckOutgoing } from "../../../core/outgoing/check-outgoing.ts";
import type { AcpMemory } from "./acp-agents.ts";
import type { ModelOutcome, TurnIds, TurnMessage } from "./turn.ts";

/** A turn of an agent, of a run or of a conversation. */
export interface AgentTurn {
  readonly messages: readonly TurnMessage[];
  readonly override: { readonly model?: string | undefined; readonly thinking?: string | undefined };
  /** True when the turn was given nothing to look at, as a periodic heartbeat. */
  readonly idle: boolean;
  /** True: the provider was down, and one request shows whether it still is. */
  readonly isProbe: boolean;
  /** `owner`: what is new in it is the owner's own message; the conversation before it may hold what others wrote. */
  readonly trust: "owner" | "untrusted";
  /** What a mapping leaves of the agent's permissions. */
  readonly permissions?: Permissions | undefined;
  /** What is left of the agent's rights after what its session has read before. */
  readonly read: readonly TextRights[];
  readonly tools?: "none" | undefined;
  /** What is left of the hosts that the agent's programs can reach; absent: all of them. */
  readonly egress?: readonly string[] | undefined;
  readonly workspace?: WorkspaceSpec | undefined;
  /** Where an agent with a memory of its own finds the session again; absent: the turn is on its own. */
  readonly memory?: AcpMemory | undefined;
  readonly signal: AbortSignal;
  /** Called around each wait for the owner. */
  readonly onHold: (isHeld: boolean) => void;
  readonly traceparent?: string | undefined;
  /** Why a text may not leave; absent: it may. */
  readonly checkOutgoing?: CheckOutgoing | undefined;
  /** Of what the turn writes, for programs that can add it. */
  readonly mark?: string | undefined;
  readonly of: Omit<TurnIds, "agentId">;
}

export type TurnOutcome = ModelOutcome & { readonly activity?: readonly AgentActivity[] };
