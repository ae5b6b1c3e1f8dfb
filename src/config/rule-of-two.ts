/** The Rule of Two: a run that reads what others wrote, reaches private data and acts outward needs a person in between. */
import Type from "typebox";
import type { Permissions } from "../core/agent-rights.ts";
import { type AgentExposure, type Exposure, NO_EXPOSURE } from "../core/exposure.ts";
import type { Level } from "../core/delivery.ts";
import type { AgentCatalog, ChannelInfo } from "../core/host.ts";
import { text } from "./schema-parts.ts";

export const ACCEPT_ALL_THREE = Type.Optional(
  text({
    description:
      "Why a run may read what others wrote, reach private data and act outward, all three without a person in between. Without it such a mapping is refused (the Rule of Two).",
    title: "your reason",
    pattern: "\\S",
  }),
);

/** The exposure of a mapping, or of a direct route, at some levels. */
export interface ExposureRow extends Exposure {
  /** The key of the mapping, or `hooks`. */
  readonly where: string;
  /** The mapping; `null`: a direct call. */
  readonly mappingId: string | null;
  /** The route of direct calls; absent for a mapping. */
  readonly route?: "agent" | "wake";
  readonly levels: readonly Level[];
  readonly agentId: string;
  /** The owner's reason for all three; `null`: none is written. */
  readonly accepted: string | null;
}

/** What one action asks for. */
export interface ExposedAction {
  readonly kind: "agent" | "wake";
  readonly agentId: string;
  /** Text that others wrote, in words for the owner; empty: none reaches the agent. */
  readonly reads: readonly string[];
  readonly permissions?: Permissions | undefined;
  readonly tools?: "none" | undefined;
  readonly egress?: readonly string[] | undefined;
  readonly hasWorkspace?: boolean | undefined;
  readonly isPersistent?: boolean | undefined;
  /** Where the reply goes. */
  readonly targets?: readonly { readonly channel: string; readonly to?: string | undefined }[] | undefined;
  /** Who gets the reply besides, in words for the owner. */
  readonly answers?: readonly string[] | undefined;
}

export interface ExposureContext {
  readonly agents: Pick<AgentCatalog, "exposure">;
  /** `undefined`: unknown. */
  readonly channels: readonly ChannelInfo[] | undefined;
}

const MAIN_SESSION = "the main session, which its summary reaches, remembers";
const MEMORY = "the conversation of its session";

/** Weighs the three powers of an action; never `accepted`, which only the owner's reason makes it. */
export function weigh(action: ExposedAction, { agents, channels }: ExposureContext): Exposure {
  const { kind, agentId, reads } = action;
  if (reads.length === 0) return { reads, private: [], outward: [], human: null, verdict: "two" };
  const { permissions, tools, egress, hasWorkspace } = action;
  const session = agents.exposure?.({ agentId, turn: "session" });
  const run =
    kind === "wake"
      ? NO_EXPOSURE
      : agents.exposure?.({ agentId, turn: "run", permissions, tools, egress, hasWorkspace });
  const own = { private: memoryOf(action), outward: outsiders(action, channels) };
  if (session === undefined || run === undefined) {
    return { reads, ...own, human: null, verdict: "unknown" };
  }
  const parts = [run, kind === "wake" ? session : summaryOf(session)];
  const free = gather(
    own,
    parts.filter(({ isAsked }) => !isAsked),
  );
  const all = gather(own, parts);
  if (free.private.length > 0 && free.outward.length > 0) return { reads, ...free, human: null, verdict: "refused" };
  const isAsked = all.private.length > 0 && all.outward.length > 0;
  return { reads, ...all, human: isAsked ? "ask" : null, verdict: isAsked ? "asked" : "two" };
}

type Powers = Pick<Exposure, "private" | "outward">;

function gather(own: Powers, parts: readonly AgentExposure[]): Powers {
  return {
    private: [...new Set([...own.private, ...parts.flatMap((part) => part.private)])],
    outward: [...new Set([...own.outward, ...parts.flatMap((part) => part.outward)])],
  };
}

/** A main session that can do nothing outward gets a summary as anyone reads a report. */
function summaryOf(session: AgentExposure): AgentExposure {
  return session.outward.length === 0 ? NO_EXPOSURE : { ...session, private: [MAIN_SESSION] };
}

function memoryOf({ kind, isPersistent }: ExposedAction): readonly string[] {
  if (kind === "wake") return ["the conversation of the main session"];
  return isPersistent === true ? [MEMORY] : [];
}

/** Recipients other than those whom the owner's channels have by themselves. */
function outsiders({ targets = [], answers = [] }: ExposedAction, channels: ExposureContext["channels"]): string[] {
  const others = targets.filter(({ channel, to }) => {
    const known = channels?.find(({ id }) => id.toLowerCase() === channel.toLowerCase());
    return to !== undefined && known?.defaultTo !== to;
  });
  return [...others.map(({ channel }) => `a recipient of its own on the channel ${channel} ("to")`), ...answers];
}

/** What is wrong and what to write instead, as the predicate of a sentence. */
export function allThreeText({ reads, private: reached, outward }: Exposure, levels = ""): string {
  return (
    `has all three${levels}, with no person in between: it reads what others wrote (${reads.join("; ")}), ` +
    `reaches private data (${reached.join("; ")}) and acts outward (${outward.join("; ")}). ` +
    "Take one away: lower its rights, or mark a tool private: false or outward: false; " +
    'put a person in between: permissions: "ask", or minLevel with quarantine; or write acceptAllThree: "<your reason>"'
  );
}
