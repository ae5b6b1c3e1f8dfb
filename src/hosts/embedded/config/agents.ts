/** The `agents` section of the configuration, with every default filled in. */
import ms from "ms";
import type { StringValue } from "ms";
import type { Findings } from "../../../config/errors.ts";
import { showValue } from "../../../config/show-value.ts";
import type { AgentConfig, AgentsConfig, AllowedModel, ProviderConfig } from "./file.ts";
import { type ProgramRuntime, readRuntime } from "./runtime.ts";
import { readTools } from "./tools.ts";
import { readPermissions } from "../../../config/permissions.ts";
import { KEPT, missingSecret, type SetAsideContext } from "./models.ts";
import type { GatewayFile } from "./schema.ts";
import { type KeyPath, showKeyPath } from "../../../config/show-value.ts";

type AgentsFile = NonNullable<GatewayFile["agents"]>;
type ModelChoice = NonNullable<AgentsFile["defaults"]>["model"];

const defaultHeartbeat = "30m";
/** The schema bounds numbers; what a string comes to is known only here. */
const maxHeartbeatMs = 7 * 24 * 3_600_000;
const defaultTimeoutSeconds = 600;
const defaultApprovalSeconds = 300;

export interface AgentsPlace extends SetAsideContext {
  readonly providers: ReadonlyMap<string, Pick<ProviderConfig, "baseUrl">>;
  readonly configDir: string;
}

/** Reads the section; `providers` are the names that model references may begin with. */
export function readAgents(written: AgentsFile | undefined, options: AgentsPlace): AgentsConfig {
  const { findings, configDir } = options;
  const defaults = written?.defaults;
  const allowedModels = readAllowedModels(defaults?.models, options);
  const context = { ...options, allowedModels };
  const model = readModel(defaults?.model, "agents.defaults.model", context);
  const list = written?.list ?? [];
  const entries: AgentsFile["list"] & {} = list.length === 0 ? [{ id: "main" }] : list;
  const agents = entries.map((agent, at) => {
    const where = `agents.list[${at}]`;
    const own = readModel(agent.model, `${where}.model`, context);
    const place = { where: `${where}.runtime`, configDir, hasModel: own !== undefined, findings };
    const runtime = readRuntime(agent.runtime, place);
    const ownModel = runtime === undefined ? (own ?? model) : undefined;
    const found = findings.issues.length;
    const rights = readRights(agent, { ...options, keys: ["agents", "list", at], model: ownModel ?? model, runtime });
    const before = options.setAside?.before?.agents.list.find(({ id, broken }) => id === agent.id && !broken);
    const missing = missingSecret(found, options, before ? KEPT : "its runs wait until it can be read");
    return {
      id: agent.id,
      model: ownModel,
      systemPrompt: agent.systemPrompt,
      thinking: agent.thinking,
      ...(runtime && { runtime }),
      ...rights,
      ...(missing !== undefined && (before ? { tools: before.tools } : { broken: missing })),
    };
  });
  refuseRepeated(agents, findings);
  return {
    list: markDefault(agents, defaultIndex(entries, findings)),
    allowedModels,
    heartbeatEveryMs: readHeartbeatMs(defaults?.heartbeat?.every ?? defaultHeartbeat, findings),
    timeoutMs: Math.round((defaults?.timeoutSeconds ?? defaultTimeoutSeconds) * 1_000),
  };
}

interface RightsPlace extends AgentsPlace {
  readonly keys: KeyPath;
  /** Of the agent, or of all agents. */
  readonly model: string | undefined;
  readonly runtime: ProgramRuntime | undefined;
}

type Rights = Pick<AgentConfig, "tools" | "waits" | "permissions" | "allowUntrusted" | "approvalTimeoutMs" | "egress">;

function readRights(
  agent: NonNullable<AgentsFile["list"]>[number],
  { keys, model, runtime, ...options }: RightsPlace,
): Rights {
  const { findings, providers } = options;
  const where = showKeyPath(keys);
  const permissions = readPermissions(agent.permissions ?? "deny", `${where}.permissions`, findings);
  const allowUntrusted = agent.allowUntrusted ?? false;
  // With allowUntrusted it is a finding of the audit.
  if (permissions === "all" && !allowUntrusted) {
    findings.warn(
      `${where}.permissions`,
      "lets no run of a hook begin unless its mapping lowers it; list what the agent needs, or write allowUntrusted: true",
    );
  }
  if (runtime !== undefined && agent.tools !== undefined) {
    findings.refuse(`${where}.tools`, "is for a model; a program brings its own tools, so leave it out");
  }
  if (runtime?.type === "command" && (permissions === "ask" || typeof permissions === "object")) {
    findings.refuse(
      `${where}.permissions`,
      'cannot be decided act by act for a command; write "deny", "reads" or "all", or use an agent of the type "acp"',
    );
  }
  if (agent.tools !== undefined && permissions === "deny") {
    findings.warn(`${where}.permissions`, 'denies every call of its tools; write for example "reads", or list calls');
  }
  const endpoint = model === undefined ? undefined : providers.get(model.slice(0, model.indexOf("/")));
  return {
    ...(agent.tools && { tools: readTools(agent.tools, { ...options, keys: [...keys, "tools"] }) }),
    ...(agent.waits === true && { waits: true }),
    permissions,
    allowUntrusted,
    approvalTimeoutMs: Math.round((agent.approvalTimeoutSeconds ?? defaultApprovalSeconds) * 1_000),
    egress: agent.egress ?? (endpoint === undefined ? [] : [URL.parse(endpoint.baseUrl)?.host ?? ""].filter(Boolean)),
  };
}

function readAllowedModels(
  written: NonNullable<AgentsFile["defaults"]>["models"],
  { providers, findings }: Pick<AgentsPlace, "providers" | "findings">,
): readonly AllowedModel[] | undefined {
  if (written === undefined) return undefined;
  const where = ["agents", "defaults", "models"];
  const models = Object.entries(written).map(([ref, { alias }]) => ({ ref, alias }));
  if (models.length === 0) {
    findings.refuse(
      showKeyPath(where),
      "is empty; list the models that runs may use, or leave the key out to allow any",
    );
  }
  const aliases = new Set<string>();
  for (const { ref, alias } of models) {
    const problem = modelProblem(ref, providers);
    if (problem !== undefined) findings.refuse(showKeyPath([...where, ref]), problem);
    if (alias === undefined) continue;
    if (aliases.has(alias)) {
      findings.refuse(showKeyPath([...where, ref, "alias"]), `"${alias}" is the alias of another model as well`);
    }
    aliases.add(alias);
  }
  return models;
}

function readModel(
  choice: ModelChoice,
  where: string,
  context: {
    readonly providers: AgentsPlace["providers"];
    readonly findings: Findings;
    readonly allowedModels: readonly AllowedModel[] | undefined;
  },
): string | undefined {
  if (choice === undefined) return undefined;
  const written = typeof choice === "string" ? choice : choice.primary;
  const ref = context.allowedModels?.find(({ alias }) => alias === written)?.ref ?? written;
  const problem = modelProblem(ref, context.providers);
  if (problem !== undefined) context.findings.refuse(where, problem);
  return ref;
}

/** The problem of a model reference, or `undefined`. */
function modelProblem(ref: string, providers: AgentsPlace["providers"]): string | undefined {
  const slash = ref.indexOf("/");
  if (slash < 1 || slash === ref.length - 1) return `${showValue(ref)} is not written <provider>/<model>`;
  const provider = ref.slice(0, slash);
  if (providers.has(provider)) return undefined;
  return `${showValue(ref)} names the provider ${showValue(provider)}, which models.providers does not define`;
}

function readHeartbeatMs(every: number | string, findings: Findings): number {
  // A bare number in a string would be milliseconds to the library; the schema demands a unit there.
  const everyMs = Math.round(typeof every === "number" ? every * 1_000 : ms(every as StringValue));
  if (!(everyMs <= maxHeartbeatMs)) {
    findings.refuse("agents.defaults.heartbeat.every", `${showValue(every)} is more than 7 days, or no duration`);
  }
  return everyMs;
}

function refuseRepeated(agents: readonly { readonly id: string }[], findings: Findings): void {
  const seen = new Set<string>();
  for (const [at, { id }] of agents.entries()) {
    if (seen.has(id)) findings.refuse(`agents.list[${at}].id`, `"${id}" is the id of an earlier agent as well`);
    seen.add(id);
  }
}

function defaultIndex(entries: readonly { readonly default?: boolean }[], findings: Findings): number {
  const marked = [...entries.keys()].filter((at) => entries[at]?.default === true);
  for (const at of marked.slice(1)) {
    findings.refuse(`agents.list[${at}].default`, `agents.list[${marked[0]}] is the default already; mark one agent`);
  }
  return marked[0] ?? 0;
}

function markDefault(agents: readonly Omit<AgentConfig, "isDefault">[], chosen: number): readonly AgentConfig[] {
  return agents.map((agent, at) => ({ ...agent, isDefault: at === chosen }));
}
