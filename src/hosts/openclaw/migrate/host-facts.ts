import type { AgentCatalog } from "../../../core/host.ts";
import { allowsModel, modelNames, modelPolicy } from "../model-policy.ts";
import { agentCatalog, channelList, foldAgentId, writtenAgents } from "../read-config.ts";
import { fieldsAt, isFields } from "../fields.ts";
import type { Fields } from "../fields.ts";

/** The facts in the rest of the configuration that decide how a block is translated. */
export interface HostFacts {
  /** As they are configured; `undefined`: they are in another file, and nothing is known of them. */
  readonly agentIds: readonly string[] | undefined;
  /** Ours for calls that name none, where agents are known. */
  readonly defaultAgent: string;
  /** False when the host has none for such calls. */
  readonly hasDefault: boolean;
  /** Channels that are configured and on; `undefined`: they are in another file, and nothing is known of them. */
  readonly channels: readonly string[] | undefined;
  /** References by themselves and by their aliases in lower case. */
  readonly models: ReadonlyMap<string, string>;
  /** True for the reference of a model that runs of some agent may choose. */
  readonly allowsModel: (reference: string) => boolean;
  /** `agents.defaults.timeoutSeconds`. */
  readonly timeoutSeconds: number | undefined;
  readonly announcesSessions: boolean;
}

/** Reads the facts of a configuration whose references have been replaced. */
export function readHostFacts(config: Fields): HostFacts {
  const agents = agentCatalog(config, "");
  const policies = [{}, ...writtenAgents(fieldsAt(config, "agents"))].map((agent) => modelPolicy(config, agent));
  const seconds = fieldsAt(config, "agents", "defaults")["timeoutSeconds"];
  return {
    agentIds: hasIncludedAgents(config) ? undefined : agents.list().map(({ id }) => id),
    defaultAgent: agents.resolve(undefined).id,
    hasDefault: hasIncludedAgents(config) || hasDefault(config, agents),
    channels: isIncluded(config["channels"]) ? undefined : channelList(config).map(({ id }) => id),
    models: modelNames(config),
    allowsModel: (reference) => policies.some((policy) => allowsModel(config, policy, reference)),
    timeoutSeconds: typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
    announcesSessions: fieldsAt(config, "session")["notifyOnCreate"] !== false,
  };
}

/** With explicit owners of agents, the host uses its system agent and no other mark. */
function hasDefault(config: Fields, agents: AgentCatalog): boolean {
  const ids = agents.list().map(({ id }) => foldAgentId(id));
  if (ids.length < 2 || fieldsAt(config, "agents")["ownership"] !== "explicit") return true;
  const written = fieldsAt(config, "agents", "defaults", "systemAgent")["agentId"];
  return typeof written === "string" && ids.includes(foldAgentId(written));
}

/** True for an object that is completed from another file. */
export function isIncluded(value: unknown): boolean {
  return isFields(value) && Object.hasOwn(value, "$include");
}

/** True when agents may be in another file. */
export function hasIncludedAgents(config: Fields): boolean {
  const agents = fieldsAt(config, "agents");
  const listed: unknown = agents["list"];
  // An entry is known by its key, whatever completes it; one of a list is not.
  return [agents, agents["entries"], listed].some(isIncluded) || (Array.isArray(listed) && listed.some(isIncluded));
}

/** Other names under which the host knows channels. */
const CHANNEL_ALIASES: ReadonlyMap<string, string> = new Map([
  ["gchat", "googlechat"],
  ["google-chat", "googlechat"],
  ["imsg", "imessage"],
  ["internet-relay-chat", "irc"],
  ["lark", "feishu"],
  ["nc", "nextcloud-talk"],
  ["nc-talk", "nextcloud-talk"],
  ["teams", "msteams"],
  ["twitch-chat", "twitch"],
  ["zl", "zalo"],
  ["zlu", "zalouser"],
]);

/** A channel's id for the name that is written. */
export function channelIdOf(written: string): string {
  const folded = written.trim().toLowerCase();
  return CHANNEL_ALIASES.get(folded) ?? folded;
}
