/** Whether an agent may do what it asks for, by its permissions and those of the mapping. */
import { normalize, relative } from "node:path";
import {
  type ActKind,
  type CarriedRights,
  leastRights,
  type PermissionRule,
  type Permissions,
  type TextRights,
  textRights,
} from "../../../core/agent-rights.ts";
import type { AgentConfig } from "../config/file.ts";

/** What an agent is about to do. All but `tool` is its own claim. */
export interface Act {
  readonly kind: ActKind;
  /** `<server>.<tool>` of a server that the configuration names. */
  readonly tool?: string | undefined;
  /** For people. */
  readonly title: string;
  readonly command?: string | undefined;
  /** Files that it touches: absolute, or relative to the working directory. */
  readonly paths?: readonly string[] | undefined;
  /** The arguments, for people. */
  readonly input?: string | undefined;
}

export type Decision = "allow" | "ask" | "deny";

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const satisfies Record<Decision, number>;
/** Reading never leaves the machine: `fetch` is not among them. */
const READS: ReadonlySet<ActKind> = new Set(["read", "search", "think"]);
/** True for an act that reads and sends nothing. */
export function isReading(kind: ActKind): boolean {
  return READS.has(kind);
}

/** With one of these a shell does more than one command. */
const SHELL_CHARACTERS = /[;&|<>$`\\\n\r(){}*?[\]!#~"']/u;

/** The strictest of what the agent, the mapping and whatever else lowers them say. */
export function decide(permissions: readonly Permissions[], act: Act, cwd: string): Decision {
  const decisions = permissions.map((each) => decideBy(each, act, cwd));
  return decisions.reduce((strict, next) => (STRICTNESS[next] > STRICTNESS[strict] ? next : strict), "allow");
}

/** True when all of them allow everything. */
export function allowsAll(own: Permissions, lowered: readonly Permissions[]): boolean {
  return [own, ...lowered].every((each) => each === "all");
}

function decideBy(permissions: Permissions, act: Act, cwd: string): Decision {
  if (permissions === "all") return "allow";
  if (permissions === "ask") return "ask";
  if (permissions === "deny") return "deny";
  if (permissions === "reads") return READS.has(act.kind) ? "allow" : "deny";
  return permissions.allow.some((rule) => matches(rule, act, cwd)) ? "allow" : "deny";
}

function matches({ tool, kind, command, path }: PermissionRule, act: Act, cwd: string): boolean {
  if (tool === undefined && kind === undefined && command === undefined && path === undefined) return false;
  if (tool !== undefined && !isTool(tool, act.tool)) return false;
  if (kind !== undefined && act.kind !== kind) return false;
  if (command !== undefined && !isCommand(command, act.command)) return false;
  return path === undefined || (act.paths !== undefined && act.paths.length > 0 && act.paths.every(isIn(path, cwd)));
}

/** True when the pattern `<server>.<tool>` or `<server>.<start>*` names the tool. */
export function isTool(pattern: string, tool: string | undefined): boolean {
  if (tool === undefined) return false;
  return pattern.endsWith("*") ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern;
}

function isCommand(pattern: string, command: string | undefined): boolean {
  if (command === undefined) return false;
  if (!pattern.endsWith(" *")) return command.trim() === pattern;
  const start = pattern.slice(0, -2);
  const rest = command.trim().slice(start.length);
  return command.trim().startsWith(start) && (rest === "" || rest.startsWith(" ")) && !SHELL_CHARACTERS.test(rest);
}

function isIn(folder: string, cwd: string): (path: string) => boolean {
  const allowed = normalize(folder).replace(/\/$/u, "");
  return (path) => {
    const inside = normalize(path.startsWith("/") ? relative(cwd, path) : path);
    if (inside.startsWith("..")) return false;
    return allowed === "." || inside === allowed || inside.startsWith(`${allowed}/`);
  };
}

/**
 * A conversation has also read what others wrote. An agent that may do everything asks there whether it may, when its
 * owner talks to it, and otherwise does nothing. A command cannot be asked.
 */
export function ownPermissions(
  { permissions, allowUntrusted, runtime }: Pick<AgentConfig, "permissions" | "allowUntrusted" | "runtime">,
  { trust, isRun }: { readonly trust: "owner" | "untrusted"; readonly isRun: boolean },
): Permissions {
  if (permissions !== "all" || allowUntrusted || isRun) return permissions;
  return trust === "owner" && runtime?.type !== "command" ? "ask" : "deny";
}

/** What is left of an agent's permissions in a turn, by the mapping and by what the session has read. */
export function loweredPermissions(turn: {
  readonly permissions?: Permissions | undefined;
  readonly tools?: "none" | undefined;
  readonly read: readonly TextRights[];
}): readonly Permissions[] {
  return [textRights(turn), ...turn.read].flatMap((rights) => rights?.permissions ?? []);
}

/** A command cannot be asked act by act, so what would ask it, or list its acts, keeps it from writing. */
export function isReadOnly(permissions: Permissions, runtime: AgentConfig["runtime"]): boolean {
  return runtime?.type === "command" ? permissions !== "all" : permissions === "deny" || permissions === "reads";
}

/** What the texts that a turn reads leave to whatever it makes. */
export function carriedBy(turn: CarriedRights & { readonly read: readonly TextRights[] }): CarriedRights {
  const { permissions, tools, egress, read } = turn;
  return read.reduce<CarriedRights>(leastRights, { permissions, tools, egress });
}

/** The hosts of both lists, as the second writes them; absent, it is all of the first. */
export function commonHosts(own: readonly string[], lowered: readonly string[] | undefined): readonly string[] {
  return lowered === undefined ? own : lowered.filter((host) => own.some((each) => coversHost(each, host)));
}

/** `own` is a host, or `*.` and what its hosts end with; without a port it covers every port. */
function coversHost(own: string, host: string): boolean {
  if (own === host) return true;
  const name = /:\d+$/u.test(own) ? host : host.replace(/:\d+$/u, "");
  return own === name || (own.startsWith("*.") && name.endsWith(own.slice(1)));
}
