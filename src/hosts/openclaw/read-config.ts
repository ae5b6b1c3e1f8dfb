/** Reads the host's configuration, in the shapes of its versions. */
import { hash } from "node:crypto";
import type { AgentCatalog, AgentInfo, ChannelInfo, GatewayFacts } from "../../core/host.ts";
import { rightsProblem } from "./enforceable.ts";
import type { HostSession } from "./event-queue.ts";
import { allowsModel, listedModels, modelPolicy } from "./model-policy.ts";
import type { OpenClawConfig } from "./sdk.ts";

const DEFAULT_PORT = 18_789;

/** The URL of the configuration's host on this machine, without a slash at its end. */
export function localUrl(config: OpenClawConfig, env: Readonly<Record<string, string | undefined>>): string {
  const gateway = (config["gateway"] ?? {}) as { port?: unknown; tls?: { enabled?: unknown } };
  const port = Number(env["OPENCLAW_GATEWAY_PORT"]) || Number(gateway.port) || DEFAULT_PORT;
  return `${gateway.tls?.enabled === true ? "https" : "http"}://127.0.0.1:${port}`;
}

type Fields = Readonly<Record<string, unknown>>;

/** Keys of `channels` that are no channel. */
const NO_CHANNELS: ReadonlySet<string> = new Set(["defaults", "modelByChannel"]);
const DEFAULT_AGENT = "main";
/** Identifies our event in the host's queue. */
const CONTEXT_KEY = "reveille:events";

/** The plugin's own block; `undefined` when it has none. The host makes an empty one for every plugin. */
export function pluginBlock(config: OpenClawConfig, pluginId: string): unknown {
  const block = pluginEntry(config, pluginId)["config"];
  return isFields(block) && Object.keys(block).length === 0 ? undefined : block;
}

/** True when the owner has the plugin turned on; it is unless its entry says otherwise. */
export function isPluginEnabled(config: OpenClawConfig, pluginId: string): boolean {
  return pluginEntry(config, pluginId)["enabled"] !== false;
}

/** Facts about the gateway; secrets that are references are not known here. */
export function gatewayFacts(config: OpenClawConfig, env: NodeJS.ProcessEnv = process.env): GatewayFacts {
  const gateway = fieldsAt(config, "gateway");
  const auth = fieldsAt(gateway, "auth");
  const providers = Object.values(fieldsAt(fieldsAt(config, "models"), "providers"));
  const bind = gateway["bind"] ?? "loopback";
  const exposed = fieldsAt(gateway, "tailscale")["mode"] ?? "off";
  const candidates = [
    auth["token"],
    auth["password"],
    env["OPENCLAW_GATEWAY_TOKEN"],
    env["OPENCLAW_GATEWAY_PASSWORD"],
    ...providers.map((provider) => (isFields(provider) ? provider["apiKey"] : undefined)),
    ...SECRET_PARTS.flatMap((part) => secretsBelow(fieldsAt(config, part), SECRET_DEPTH)),
  ];
  const proxies = gateway["trustedProxies"];
  return {
    secrets: [...new Set(candidates.filter(isText))],
    loopbackOnly: bind === "loopback" && exposed === "off",
    trustedProxies: Array.isArray(proxies) ? proxies.filter(isText) : [],
  };
}

/** Parts of the configuration in which channels, tools and programs have theirs. */
const SECRET_PARTS = ["channels", "env", "mcp", "models", "skills", "tools"];
const SECRET_DEPTH = 8;
const SECRET_NAME = /(?:api_?key|auth|authorization|credential|passw(?:or)?d|secret|token)$/iu;

/** Texts under names of secrets. */
function secretsBelow(value: unknown, depth: number): unknown[] {
  if (typeof value !== "object" || value === null || depth === 0) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member === "string" ? (SECRET_NAME.test(name) ? [member] : []) : secretsBelow(member, depth - 1),
  );
}

/** The bearer token of the host's own API, when it is text: `gateway.auth`, or the environment. */
export function gatewaySecret(
  config: OpenClawConfig,
  env: Readonly<Record<string, string | undefined>>,
): { readonly secret: string | undefined; readonly isNeeded: boolean } {
  const { mode, token, password } = fieldsAt(fieldsAt(config, "gateway"), "auth");
  const tokens = [token, env["OPENCLAW_GATEWAY_TOKEN"]];
  const passwords = [password, env["OPENCLAW_GATEWAY_PASSWORD"]];
  const secret = (mode === "password" ? [...passwords, ...tokens] : [...tokens, ...passwords]).find(isText);
  return { secret, isNeeded: mode !== "none" };
}

/** The host's authentication of callers of its API, and the names (`host:port`) under which browsers may know it. */
export function operatorAccess(config: OpenClawConfig): { readonly mode: unknown; readonly hosts: readonly string[] } {
  const gateway = fieldsAt(config, "gateway");
  const origins = fieldsAt(gateway, "controlUi")["allowedOrigins"];
  const written = Array.isArray(origins) ? origins.filter(isText) : [];
  const hosts = written.filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin).host);
  return { mode: fieldsAt(gateway, "auth")["mode"], hosts };
}

/** The agents, and the models that runs of the plugin may choose. */
export function agentCatalog(config: OpenClawConfig, pluginId: string): AgentCatalog {
  const agents = agentList(config);
  const models = new Map<string, readonly string[] | undefined>();
  const mayChooseModel = fieldsAt(pluginEntry(config, pluginId), "subagent")["allowModelOverride"] === true;
  const main = agents.find(({ isDefault }) => isDefault) ?? { id: DEFAULT_AGENT, isDefault: true };
  // Of two that the host compares as equal, the first.
  const byFoldedId = new Map(agents.toReversed().map((agent) => [foldAgentId(agent.id), agent]));
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return {
    list: () => agents,
    resolve(agentId) {
      if (agentId === undefined) return main;
      return byId.get(agentId) ?? byFoldedId.get(foldAgentId(agentId)) ?? main;
    },
    allowedModels(agentId) {
      if (!models.has(agentId)) models.set(agentId, allowedModels(config, pluginId, agentId));
      return models.get(agentId);
    },
    rightsProblem,
    modelProblem: () => {
      if (mayChooseModel) return undefined;
      const key = `plugins.entries.${pluginId}.subagent.allowModelOverride`;
      return `cannot be chosen until ${key} is true in OpenClaw's configuration`;
    },
  };
}

/** Channels that are configured and not turned off. */
export function channelList(config: OpenClawConfig): readonly ChannelInfo[] {
  return Object.entries(fieldsAt(config, "channels"))
    .filter(([id, channel]) => !NO_CHANNELS.has(id) && isFields(channel) && channel["enabled"] !== false)
    .map(([id, channel]) => {
      const to = (channel as Fields)["defaultTo"];
      return isText(to) || typeof to === "number" ? { id, defaultTo: String(to) } : { id };
    });
}

/** The last part of a main session's key. */
export function mainKey(config: OpenClawConfig): string {
  const key = fieldsAt(config, "session")["mainKey"];
  return isText(key) ? key.trim().toLowerCase() : "main";
}

/**
 * The host's key for a session of ours. With `session.scope: "global"` an agent has one session, `global`, and its
 * heartbeats run in no other; and a host that puts keys in lower case has one session for several of ours. These share
 * its queue: an event of one must not take the place of another's.
 */
export function hostSession(config: OpenClawConfig, session: string): HostSession {
  const agentId = agentOf(session);
  const isGlobal = fieldsAt(config, "session")["scope"] === "global";
  const sessionKey = isGlobal ? "global" : session;
  const isAlone = session === (isGlobal ? `agent:${agentId}:${mainKey(config)}` : session.toLowerCase());
  // The host puts the keys in lower case.
  const contextKey = isAlone ? CONTEXT_KEY : `${CONTEXT_KEY}:${hash("sha256", session).slice(0, 16)}`;
  return { agentId, sessionKey, contextKey, isolatesHeartbeats: isolatesHeartbeats(config, agentId) };
}

/** `heartbeat.isolatedSession` of an agent; what it does not set is that of the defaults. */
function isolatesHeartbeats(config: OpenClawConfig, agentId: string): boolean {
  const defaults = fieldsAt(fieldsAt(config, "agents"), "defaults");
  const own = writtenAgent(config, agentId);
  const settings = { ...fieldsAt(defaults, "heartbeat"), ...fieldsAt(own, "heartbeat") };
  return (settings as Fields)["isolatedSession"] === true;
}

/** The agent of a full session key: `agent:<id>:<rest>`. */
export function agentOf(sessionKey: string): string {
  return sessionKey.split(":")[1] ?? "";
}

/** The prefix of the host's own hooks; `undefined` when they are off. */
export function builtInPrefix(config: OpenClawConfig): string | undefined {
  const hooks = fieldsAt(config, "hooks");
  if (hooks["enabled"] !== true) return undefined;
  const path = isText(hooks["path"]) ? hooks["path"] : "/hooks";
  return `/${path.trim().replaceAll(/^\/+|\/+$/g, "")}`;
}

/** `agents.entries` of today; `agents.list` of before, with the default one marked. */
function agentList(config: OpenClawConfig): readonly AgentInfo[] {
  const agents = fieldsAt(config, "agents");
  const named = writtenAgents(agents).filter(({ id }) => isText(id));
  const found = named.length > 0 ? named : [{ id: DEFAULT_AGENT }];
  const marked = found.findIndex((agent: Fields) => agent["default"] === true);
  const main = found.findIndex(({ id }) => id === DEFAULT_AGENT);
  const owner = systemAgent(agents);
  const owning = owner === undefined ? -1 : found.findIndex(({ id }) => foldAgentId(String(id)) === owner);
  const chosen = [owning, marked, main].find((at) => at !== -1) ?? 0;
  return found.map(({ id }, at) => ({ id: String(id), isDefault: at === chosen }));
}

function writtenAgent(config: OpenClawConfig, agentId: string): Fields {
  const wanted = foldAgentId(agentId);
  return writtenAgents(fieldsAt(config, "agents")).find(({ id }) => foldAgentId(String(id)) === wanted) ?? {};
}

export function writtenAgents(agents: Fields): readonly Fields[] {
  const listed = Array.isArray(agents["list"]) ? agents["list"].filter(isFields) : [];
  const entries = Object.entries(fieldsAt(agents, "entries")).map(([id, entry]): Fields => ({
    ...(isFields(entry) ? entry : {}),
    id,
  }));
  return entries.length > 0 ? entries : listed;
}

/** With explicit owners of agents, the host uses its system agent and no other mark. */
function systemAgent(agents: Fields): string | undefined {
  const written = fieldsAt(fieldsAt(agents, "defaults"), "systemAgent")["agentId"];
  return agents["ownership"] === "explicit" && isText(written) ? foldAgentId(written) : undefined;
}

/** An agent id as the host compares it: in lower case, with dashes instead of other characters. */
export function foldAgentId(written: string): string {
  const folded = written.trim().toLowerCase();
  return folded
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64);
}

/** `undefined` when any may be chosen. The host refuses a plugin's choice unless the owner allowed it for that plugin. */
function allowedModels(config: OpenClawConfig, pluginId: string, agentId: string): readonly string[] | undefined {
  const plugin = fieldsAt(pluginEntry(config, pluginId), "subagent");
  if (plugin["allowModelOverride"] !== true) return [];
  const granted = Array.isArray(plugin["allowedModels"]) ? plugin["allowedModels"].filter(isText) : undefined;
  const policy = modelPolicy(config, writtenAgent(config, agentId));
  if (granted === undefined || granted.includes("*")) return listedModels(config, policy);
  return granted.filter((model) => allowsModel(config, policy, model));
}

function pluginEntry(config: OpenClawConfig, pluginId: string): Fields {
  return fieldsAt(fieldsAt(fieldsAt(config, "plugins"), "entries"), pluginId);
}

function fieldsAt(fields: Fields, key: string): Fields {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  return isFields(value) ? value : {};
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
