/** What an agent may do in a run, and what it did. */

/**
 * What an agent may do by its tools. `deny`: nothing. `reads`: what is declared to read only. A list: what one of
 * its rules matches. `ask`: each act is a question to the owner. `all`: everything.
 */
export type Permissions = "deny" | "reads" | "ask" | "all" | { readonly allow: readonly PermissionRule[] };

/** An act matches when all that the rule names matches; an empty rule matches nothing. */
export interface PermissionRule {
  /** A tool of an MCP server, `<server>.<tool>`; `*` at its end matches any characters. */
  readonly tool?: string | undefined;
  /** The kind that the agent claims. */
  readonly kind?: ActKind | undefined;
  /** A command line; ` *` at its end matches any arguments without a metacharacter of the shell. */
  readonly command?: string | undefined;
  /** A folder or file, relative to the working directory; what is below a folder matches. */
  readonly path?: string | undefined;
}

/**
 * What is left of an agent's rights to every turn that reads a text, since the run that wrote the text, or the call
 * that brought it, had no more; an absent part is all of it.
 */
export interface TextRights {
  readonly permissions?: Permissions | undefined;
  readonly egress?: readonly string[] | undefined;
}

/** What a run with these rights leaves to whoever reads what it wrote; `undefined`: all. */
export function textRights({
  permissions,
  tools,
  egress,
}: TextRights & { readonly tools?: "none" | undefined }): TextRights | undefined {
  const left = tools === "none" ? "deny" : permissions;
  if (left === undefined && egress === undefined) return undefined;
  return { ...(left !== undefined && { permissions: left }), ...(egress !== undefined && { egress }) };
}

/** What is left of a run's rights by two texts that it carries; an absent part is all of it. */
export interface CarriedRights extends TextRights {
  readonly tools?: "none" | undefined;
}

/** What both leave. Of permissions of which none is a part of the other nothing is left. */
export function leastRights(one: CarriedRights, other: CarriedRights): CarriedRights {
  return {
    permissions: leastPermissions(one.permissions, other.permissions),
    tools: one.tools ?? other.tools,
    egress: leastEgress(one.egress, other.egress),
  };
}

function leastPermissions(one: Permissions | undefined, other: Permissions | undefined): Permissions | undefined {
  if (one === undefined || one === "all") return other ?? one;
  if (other === undefined || other === "all") return one;
  return JSON.stringify(one) === JSON.stringify(other) ? one : "deny";
}

function leastEgress(one: TextRights["egress"], other: TextRights["egress"]): TextRights["egress"] {
  if (one === undefined || other === undefined) return one ?? other;
  return one.filter((host) => other.includes(host));
}

/** The kinds of acts, as the Agent Client Protocol names them. */
export const ACT_KINDS = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
] as const;
export type ActKind = (typeof ACT_KINDS)[number];

/** Where a run works: a folder, or a working copy of a git repository. */
export interface WorkspaceSpec {
  /** Absolute path of a folder. */
  readonly path?: string | undefined;
  readonly git?: { readonly url: string; readonly ref: string } | undefined;
}

/** One thing that an agent did, or was kept from. */
export interface AgentActivity {
  /** ISO 8601 UTC. */
  readonly at: string;
  /**
   * `call`: a tool was called. `denied`: an act was denied. `approved`: a person allowed it. `refused-host`: a host
   * outside of `egress`. `extracted`: a model filled the form that the agent was given. `refused-extraction`: what it
   * replied did not fit, and the agent was given nothing.
   */
  readonly kind: "call" | "denied" | "approved" | "refused-host" | "extracted" | "refused-extraction";
  /** The tool, the agent's title of the act, or the host. */
  readonly title: string;
  /** The arguments, cut. */
  readonly input?: string | undefined;
  /** The result, or why it was denied, cut. */
  readonly output?: string | undefined;
}

const ACTIVITY_WORDS = {
  call: "called",
  denied: "denied",
  approved: "approved",
  "refused-host": "refused host",
  extracted: "extracted by",
  "refused-extraction": "refused what was extracted by",
} as const satisfies Record<AgentActivity["kind"], string>;

/** One entry for people: `called github.get_issue {"number":7}: open`. */
export function activityText({ kind, title, input, output }: AgentActivity): string {
  return `${ACTIVITY_WORDS[kind]} ${title}${input === undefined ? "" : ` ${input}`}${output === undefined ? "" : `: ${output}`}`;
}

/** Entries of an attempt's activity; what comes after them is left out. */
export const MAX_ACTIVITIES = 200;

/** `approved`: for one call that has not been made yet; `used`: it was made. */
export type ApprovalState = "waiting" | "approved" | "denied" | "expired" | "used";

/** A question as a person sees it. */
export interface Approval {
  readonly id: string;
  readonly agentId: string;
  readonly sessionKey: string;
  /** The attempt that waits for the answer. */
  readonly runId: string | null;
  readonly title: string;
  readonly input: string;
  /** ISO 8601 UTC. */
  readonly askedAt: string;
  readonly state: ApprovalState;
}
