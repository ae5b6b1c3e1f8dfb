/** What an agent can reach by itself, from its configuration alone; what is not marked counts as reached. */
import type { Permissions } from "../../../core/agent-rights.ts";
import { type AgentExposure, type ExposedTurn, NO_EXPOSURE } from "../../../core/exposure.ts";
import type { AgentConfig } from "../config/file.ts";
import type { ProgramRuntime } from "../config/runtime.ts";
import type { ToolServer } from "../config/tools.ts";
import { type Act, commonHosts, isReading, ownPermissions } from "./permissions.ts";

/** `where` is the agent's key: `agents.list[1]`. */
export function exposureOf(agent: AgentConfig, where: string, turn: ExposedTurn): AgentExposure {
  const isRun = turn.turn === "run";
  // A run of such an agent does not begin.
  if (isRun && !agent.allowUntrusted && allAre("all", agent, turn)) return NO_EXPOSURE;
  const permissions = [
    ownPermissions(agent, { trust: "untrusted", isRun }),
    turn.tools === "none" ? ("deny" as const) : (turn.permissions ?? "all"),
  ];
  const egress = commonHosts(agent.egress, turn.egress);
  const { runtime } = agent;
  if (runtime?.type === "command") return ofCommand(runtime, { where, egress, permissions, turn });
  if (permissions.includes("deny")) return NO_EXPOSURE;
  const isAsked = permissions.includes("ask") || (!isRun && asksOutward(agent));
  const reached =
    runtime === undefined
      ? ofServers(agent, { where, permissions, hasEgress: egress.length > 0 })
      : ofAcp(where, permissions);
  const workspace = turn.hasWorkspace === true && (runtime !== undefined || agent.tools !== undefined);
  return { ...reached, private: [...(workspace ? [WORKSPACE] : []), ...reached.private], isAsked };
}

const WORKSPACE = "the workspace";

type Reached = Pick<AgentExposure, "private" | "outward">;

/**
 * True: in a conversation, which has read what hooks sent, the owner decides about each act that could reach outside.
 * A command cannot be asked.
 */
export function asksOutward({
  permissions,
  allowUntrusted,
  runtime,
}: Pick<AgentConfig, "permissions" | "allowUntrusted" | "runtime">): boolean {
  return runtime?.type !== "command" && !(permissions === "all" && allowUntrusted);
}

/** True for an act that could send something out, or change something outside. */
export function isOutward({ tools, egress }: Pick<AgentConfig, "tools" | "egress">, { tool, kind }: Act): boolean {
  if (tool === undefined) return !isReading(kind);
  const server = tools?.servers.get(tool.slice(0, tool.indexOf(".")));
  return server === undefined || serverIsOutward(server, egress.length > 0);
}

/** A confined program that reaches no host sends nothing out. */
function serverIsOutward(server: ToolServer, hasEgress: boolean): boolean {
  const isShut = "program" in server && server.program.isConfined && !hasEgress;
  return server.isOutward ?? !isShut;
}

function allAre(wanted: Permissions, { permissions }: Pick<AgentConfig, "permissions">, turn: ExposedTurn): boolean {
  return permissions === wanted && (turn.permissions ?? wanted) === wanted;
}

interface Allowed {
  readonly where: string;
  /** Of the agent, and what the mapping leaves of it. */
  readonly permissions: readonly Permissions[];
}

function ofServers(
  { tools }: AgentConfig,
  { where, permissions, hasEgress }: Allowed & { readonly hasEgress: boolean },
): Reached {
  const servers = [...(tools?.servers ?? [])].filter(
    ([name]) =>
      tools?.allow.some((pattern) => pattern.startsWith(`${name}.`)) === true &&
      permissions.every((each) => mayCall(each, name)),
  );
  const named = (found: typeof servers, mark: string) =>
    found.map(([name]) => `${where}.tools.mcp.${name}, which is not marked ${mark}: false`);
  return {
    private: named(
      servers.filter(([, { isPrivate }]) => isPrivate !== false),
      "private",
    ),
    outward: named(
      servers.filter(([, server]) => serverIsOutward(server, hasEgress)),
      "outward",
    ),
  };
}

/** Permissions of a list allow a tool by its name, or by a kind that its server claims. */
function mayCall(permissions: Permissions, server: string): boolean {
  if (typeof permissions === "string") return permissions !== "deny";
  return permissions.allow.some(
    ({ tool, kind, command, path }) =>
      command === undefined &&
      path === undefined &&
      (tool === undefined ? kind === "read" || kind === "other" : tool.startsWith(`${server}.`)),
  );
}

/** The agent asks before it acts, so that what it may do is what it can do. */
function ofAcp(where: string, permissions: readonly Permissions[]): Reached {
  const acts = permissions.every(
    (each) =>
      each !== "reads" &&
      (typeof each === "string" || each.allow.some(({ kind }) => kind === undefined || !isReading(kind))),
  );
  return {
    private: [`the files that the program of ${where} can read`],
    outward: acts ? [`acts of ${where} that its permissions allow`] : [],
  };
}

/** Nothing asks: it can do what its confinement leaves. */
function ofCommand(
  { isConfined }: ProgramRuntime,
  { where, egress, permissions, turn }: Allowed & { readonly egress: readonly string[]; readonly turn: ExposedTurn },
): AgentExposure {
  const files = `the files that the program of ${where} can read`;
  const writes = permissions.every((each) => each !== "deny" && each !== "reads");
  const outward = [
    ...(isConfined ? [] : [`the program of ${where} is not confined`]),
    ...(egress.length === 0 ? [] : [`${where}.egress names hosts`]),
    ...(writes && turn.hasWorkspace === true ? [`the program of ${where} can write the workspace`] : []),
  ];
  return { private: [...(turn.hasWorkspace === true ? [WORKSPACE] : []), files], outward, isAsked: false };
}
