/** The `agents` section of the configuration, with every default filled in. */
import ms from "ms";
import type { StringValue } from "ms";
import type { Findings } from "../../../config/errors.ts";
import { showValue } from "../../../config/show-value.ts";
import type { AgentConfig, AgentsConfig, AllowedModel } from "./file.ts";
import { readRuntime } from "./runtime.ts";
import type { GatewayFile } from "./schema.ts";
import { showKeyPath } from "../../../config/show-value.ts";

type AgentsFile = NonNullable<GatewayFile["agents"]>;
type ModelChoice = NonNullable<AgentsFile["defaults"]>["model"];

const defaultHeartbeat = "30m";
/** The schema bounds numbers; what a string comes to is known only here. */
const maxHeartbeatMs = 7 * 24 * 3_600_000;
const defaultTimeoutSeconds = 600;

/** Reads the section; `providers` are the names that model references may begin with. */
export function readAgents(
  written: AgentsFile | undefined,
  options: { readonly providers: ReadonlySet<string>; readonly findings: Findings; readonly configDir: string },
): AgentsConfig {
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
    return {
      id: agent.id,
      model: runtime === undefined ? (own ?? model) : undefined,
      systemPrompt: agent.systemPrompt,
      thinking: agent.thinking,
      ...(runtime && { runtime }),
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

function readAllowedModels(
  written: NonNullable<AgentsFile["defaults"]>["models"],
  { providers, findings }: { readonly providers: ReadonlySet<string>; readonly findings: Findings },
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
    readonly providers: ReadonlySet<string>;
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
function modelProblem(ref: string, providers: ReadonlySet<string>): string | undefined {
  const slash = ref.indexOf("/");
  if (slash < 1 || slash === ref.length - 1) return `${showValue(ref)} is not written <provider>/<model>`;
  const provider = ref.slice(0, slash);
  if (providers.has(provider)) return undefined;
  return `${showValue(ref)} names the provider ${showValue(provider)}, which models.providers does not define`;
}

function readHeartbeatMs(every: number | string, findings: Findings): number {
  // A bare number in a string would be milliseconds to the library; the schema demands a unit there.
  const everyMs = Math.round(typeof every === "number" ? every * 1_000 : ms(every as StringValue));
  if (everyMs > maxHeartbeatMs) {
    findings.refuse("agents.defaults.heartbeat.every", `${showValue(every)} is more than 7 days`);
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
