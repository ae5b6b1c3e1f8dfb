/** The three powers that no run has at once without a person in between (docs/operate/security.md): what is known of them at load. */
import type { Permissions } from "./agent-rights.ts";

/** A turn of an agent, as far as it decides what the agent can reach. */
export interface ExposedTurn {
  readonly agentId: string;
  /** `run`: a run of a hook. `session`: a turn of a conversation, which hooks wake and summaries reach. */
  readonly turn: "run" | "session";
  readonly permissions?: Permissions | undefined;
  readonly tools?: "none" | undefined;
  readonly egress?: readonly string[] | undefined;
  readonly hasWorkspace?: boolean | undefined;
}

/** What a mapping, or a level of it, leaves of an agent's rights. */
export interface AskedRights extends Omit<ExposedTurn, "agentId" | "turn"> {
  readonly kind: "agent" | "wake";
}

/** What an agent can reach by itself in a turn, in words for the owner; what is not known counts as reached. */
export interface AgentExposure {
  /** Private data. */
  readonly private: readonly string[];
  /** Ways to act outward. */
  readonly outward: readonly string[];
  /** True: a person decides about each of its acts. */
  readonly isAsked: boolean;
}

export const NO_EXPOSURE: AgentExposure = { private: [], outward: [], isAsked: false };

/**
 * `two`: a power is missing. `asked`: a person is in between. `accepted`: all three, with the owner's reason.
 * `refused`: all three. `unknown`: the host does not say what its agents can reach.
 */
export type ExposureVerdict = "two" | "asked" | "accepted" | "refused" | "unknown";

/** What is known of one kind of turn, in words for the owner. */
export interface Exposure {
  /** Text that others wrote; empty: none reaches the agent. */
  readonly reads: readonly string[];
  readonly private: readonly string[];
  readonly outward: readonly string[];
  /** What puts a person in between; `null`: nothing. */
  readonly human: "ask" | "quarantine" | null;
  readonly verdict: ExposureVerdict;
}
