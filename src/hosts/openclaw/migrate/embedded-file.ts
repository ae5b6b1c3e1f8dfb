/** The pure core of `reveille adopt`: from OpenClaw's configuration to the file of the embedded gateway. */
import type { HooksInput, MappingInput } from "../../../config/hooks.ts";
import { type Fields, fieldsAt, isFields } from "../fields.ts";
import { allowsModel, modelNames, modelPolicy, nameIn } from "../model-policy.ts";
import { agentCatalog, foldAgentId } from "../read-config.ts";
import { escapeOthers, readReferences, referencedNames } from "./environment-references.ts";
import { type HostFacts, readHostFacts } from "./host-facts.ts";
import { checkHostHooks, type HostHooks } from "./hooks-schema.ts";
import { ModelChoices } from "./model-choice.ts";
import { type MigrationNote, MigrationNotes } from "./notes.ts";
import { translateHooks } from "./translate-hooks.ts";
import { modulePath } from "./translate-mapping.ts";
import { includeProblem } from "./validate.ts";

export interface EmbeddedFileContext {
  /** Absolute; the folder of OpenClaw's file. */
  readonly configDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly exists: (file: string) => boolean;
  readonly isolation: "process" | "none";
}

export type EmbeddedFileResult =
  | { readonly outcome: "refused"; readonly reasons: readonly string[] }
  | {
      readonly outcome: "adopted";
      /** References to the environment stay as they are. */
      readonly file: Fields;
      readonly notes: readonly MigrationNote[];
      /** The values that the variables in it have here; of one that has none, a text that no configuration has. */
      readonly values: Readonly<Record<string, string>>;
    };

/** Makes the file, and notes everything that it cannot carry. Never throws for anything that JSON5 can hold. */
export function embeddedFile(config: Fields, context: EmbeddedFileContext): EmbeddedFileResult {
  const { configDir, env, exists, isolation } = context;
  const included = includeProblem(config);
  if (included !== undefined) return { outcome: "refused", reasons: [included] };
  const hooks = config["hooks"];
  if (!isFields(hooks))
    return { outcome: "refused", reasons: ["There is no hooks block, so there is nothing to adopt."] };
  const issues = checkHostHooks(hooks);
  if (issues.length > 0) {
    return { outcome: "refused", reasons: issues.map(({ path, message }) => `${path}: ${message}`) };
  }
  const references = readReferences(config, env);
  const resolved = isFields(references.value) ? references.value : {};
  const notes = new MigrationNotes();
  const providers = readProviders(config, notes);
  const agents = readAgents(config, providers, notes);
  const block = translateHooks(hooks, {
    facts: { ...readHostFacts(resolved), ...agents.facts, channels: undefined },
    notes,
    models: new ModelChoices(),
    hasProvider: (reference) => reference.includes("/") && Object.hasOwn(providers, reference.split("/")[0] ?? ""),
    isolation,
    resolve: (text) => references.resolve(text),
    modulePath: (written, where) => {
      const { transformsDir } = hooks as HostHooks;
      const folder = transformsDir === undefined ? undefined : references.resolve(transformsDir);
      return modulePath(written, where, { configDir, transformsDir: folder, exists }, notes);
    },
  });
  noteChannels(config, notes);
  noteRest(config, hooks, notes);
  const file = {
    gateway: readGateway(config, notes),
    agents: agents.section,
    ...(Object.keys(providers).length === 0 ? {} : { models: { providers } }),
    ...readSession(config, notes),
    channels: { console: { enabled: true } },
    hooks: { ...withKnownChannels(block, notes), enabled: (hooks as HostHooks).enabled === true },
  };
  const names = [...referencedNames(file), ...(typeof file.gateway.auth.token === "string" ? [] : [TOKEN_VARIABLE])];
  if (names.length > 0)
    notes.add("todo", `Set ${names.join(", ")} in the environment of the new gateway, which reads no .env.`);
  const values = Object.fromEntries(names.map((name) => [name, references.resolve(`\${${name}}`)]));
  return { outcome: "adopted", file: escapeOthers(file) as Fields, notes: notes.list.map(inOwnFile), values };
}

/** Notes of the translation name the keys of OpenClaw's plugin section. */
function inOwnFile({ kind, path, text }: MigrationNote): MigrationNote {
  const own = (words: string): string => words.replaceAll("plugins.entries.reveille.config", "hooks");
  return { kind, text: own(text), ...(path === undefined ? {} : { path: own(path) }) };
}

/** The token of the gateway, where OpenClaw's file has none that can be written. */
const TOKEN_VARIABLE = "REVEILLE_GATEWAY_TOKEN";

function readGateway(config: Fields, notes: MigrationNotes) {
  const gateway = fieldsAt(config, "gateway");
  const { port, bind, trustedProxies } = gateway;
  const { token } = fieldsAt(gateway, "auth");
  const isKnownBind = bind === undefined || bind === "loopback" || bind === "lan";
  if (!isKnownBind) {
    notes.add("lost", "is left out: the gateway listens on loopback; write lan or an address instead.", "gateway.bind");
  }
  if (typeof token !== "string") {
    notes.add("todo", `is read from the variable ${TOKEN_VARIABLE}.`, "gateway.auth.token");
  }
  notes.add("todo", "The two gateways cannot share a port: stop OpenClaw first, or change gateway.port here.");
  return {
    ...(typeof port === "number" ? { port } : {}),
    ...(typeof bind === "string" && isKnownBind ? { bind } : {}),
    auth: { token: typeof token === "string" ? token : { env: TOKEN_VARIABLE } },
    ...(Array.isArray(trustedProxies) ? { trustedProxies } : {}),
  };
}

/** The API that the embedded gateway speaks. */
const API = "openai-completions";

function readProviders(config: Fields, notes: MigrationNotes): Readonly<Record<string, Fields>> {
  const kept: Record<string, Fields> = {};
  for (const [name, provider] of Object.entries(fieldsAt(config, "models", "providers"))) {
    const path = `models.providers.${name}`;
    const { baseUrl, api, apiKey } = isFields(provider) ? provider : {};
    if (typeof baseUrl !== "string" || (api !== undefined && api !== API)) {
      notes.add("lost", `is left out: only providers with a baseUrl and the API ${API} can be used.`, path);
      continue;
    }
    if (apiKey !== undefined && typeof apiKey !== "string") {
      notes.add(
        "todo",
        "is a reference that is not carried over; write the key as { env } or { file }.",
        `${path}.apiKey`,
      );
    }
    kept[name] = { baseUrl, ...(typeof apiKey === "string" ? { apiKey } : {}) };
  }
  return kept;
}

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/u;
/** The settings of an agent of the embedded gateway. */
const AGENT_KEYS: ReadonlySet<string> = new Set(["id", "default", "model", "name"]);

/** The agent of a file that names none. */
const MAIN_AGENT = "main";

interface AgentsSection {
  readonly section: Fields;
  readonly facts: Pick<HostFacts, "agentIds" | "defaultAgent" | "allowsModel">;
}

function readAgents(config: Fields, providers: Readonly<Record<string, Fields>>, notes: MigrationNotes): AgentsSection {
  const names = modelNames(config);
  const keepModel = (model: unknown, path: string): string | undefined => {
    const { primary, fallbacks } = isFields(model) ? model : { primary: model };
    if (fallbacks !== undefined) notes.add("lost", "is left out: an agent has one model.", `${path}.fallbacks`);
    if (typeof primary !== "string") return undefined;
    const reference = nameIn(names, primary);
    if (Object.hasOwn(providers, reference.split("/")[0] ?? "")) return reference;
    notes.add(
      "lost",
      `${primary} is left out, since its provider is not in models.providers here; until you name one, a built-in agent answers offline.`,
      path,
    );
    return undefined;
  };
  const defaults = fieldsAt(config, "agents", "defaults");
  const model = keepModel(defaults["model"], "agents.defaults.model");
  const allowed = allowedHere(config, providers);
  const { every } = fieldsAt(defaults, "heartbeat");
  const everySeconds = typeof every === "string" ? secondsOf(every) : undefined;
  if (every !== undefined && everySeconds === undefined) {
    notes.add("lost", "is left out: it is no duration of at most 7 days.", "agents.defaults.heartbeat.every");
  }
  // The embedded gateway takes the first one where none is marked.
  const main = foldAgentId(agentCatalog(config, "").resolve(undefined).id);
  const list = agentEntries(config).flatMap(([place, agent]) => {
    const id = foldAgentId(typeof agent["id"] === "string" ? agent["id"] : "");
    if (!AGENT_ID.test(id)) {
      notes.add("lost", "is left out: its id is no name of lower-case letters, digits, - and _.", place);
      return [];
    }
    const own = keepModel(agent["model"], `${place}.model`);
    const lost = Object.keys(agent).filter((key) => !AGENT_KEYS.has(key));
    if (lost.length > 0)
      notes.add("lost", `has no ${lost.join(", ")} here: an agent is a model and a system prompt.`, place);
    return [{ id, ...(id === main ? { default: true } : {}), ...(own === undefined ? {} : { model: own }) }];
  });
  notes.add(
    "lost",
    "Agents have no workspace, memory or tools here: write what an agent has to know into its systemPrompt.",
  );
  return {
    section: {
      defaults: {
        ...(model === undefined ? {} : { model }),
        ...(allowed.length === 0 ? {} : { models: Object.fromEntries(allowed.map(allowedModel)) }),
        ...(everySeconds === undefined ? {} : { heartbeat: { every: everySeconds } }),
      },
      ...(list.length === 0 ? {} : { list }),
    },
    facts: {
      agentIds: list.length === 0 ? [MAIN_AGENT] : list.map(({ id }) => id),
      defaultAgent: (list.find((agent) => "default" in agent) ?? list[0])?.id ?? MAIN_AGENT,
      allowsModel: (wanted) => allowed.length === 0 || allowed.some(([reference]) => reference === wanted),
    },
  };
}

const SECONDS_OF: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };
const MAX_HEARTBEAT_SECONDS = 604_800;

/** A duration as OpenClaw reads it, `1h30m` or a number of minutes; `undefined`: none that can be had here. */
function secondsOf(written: string): number | undefined {
  const text = written.trim().toLowerCase();
  if (!/^(?:\d+(?:\.\d+)?|(?:\d+(?:\.\d+)?(?:ms|[smhd]))+)$/u.test(text)) return undefined;
  const parts = text.matchAll(/([\d.]+)([a-z]*)/gu);
  const seconds = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (SECONDS_OF[unit || "m"] ?? 0), 0);
  return seconds <= MAX_HEARTBEAT_SECONDS ? seconds : undefined;
}

/** The models that OpenClaw lets runs choose, of providers that are here; none where it lets them choose any. */
function allowedHere(config: Fields, providers: Readonly<Record<string, Fields>>): [string, unknown][] {
  const policy = modelPolicy(config);
  const listed = (policy ?? []).filter((entry) => entry.includes("/")).map((entry) => [entry, {}] as const);
  const models = { ...Object.fromEntries(listed), ...fieldsAt(config, "agents", "defaults", "models") };
  return Object.entries(models).filter(
    ([reference]) =>
      policy !== undefined &&
      !reference.endsWith("/*") &&
      Object.hasOwn(providers, reference.split("/")[0] ?? "") &&
      allowsModel(config, policy, reference),
  );
}

function allowedModel([reference, model]: [string, unknown]): [string, Fields] {
  const alias = isFields(model) ? model["alias"] : undefined;
  return [reference, typeof alias === "string" && /^[^/\s]+$/u.test(alias) ? { alias } : {}];
}

/** The agents with their keys, in the shape of a list or of a map by id. */
function agentEntries(config: Fields): readonly (readonly [place: string, agent: Fields])[] {
  const agents = fieldsAt(config, "agents");
  const { list } = agents;
  const listed = Array.isArray(list)
    ? list.filter(isFields).map((agent, at) => [`agents.list[${at}]`, agent] as const)
    : [];
  const entries = Object.entries(fieldsAt(agents, "entries")).map(
    ([id, agent]) => [`agents.entries.${id}`, { ...(isFields(agent) ? agent : {}), id }] as const,
  );
  return [...listed, ...entries];
}

function readSession(config: Fields, notes: MigrationNotes): Fields {
  const { mainKey, scope } = fieldsAt(config, "session");
  if (scope !== undefined && scope !== "per-sender") {
    notes.add("lost", "is left out: each agent has a main session of its own.", "session.scope");
  }
  return typeof mainKey === "string" && /^[^:\s]+$/u.test(mainKey) ? { session: { mainKey } } : {};
}

const CONSOLE = new Set(["console", "last"]);
/** Keys of `channels` that are no channel. */
const NO_CHANNELS = new Set(["defaults", "modelByChannel"]);

function noteChannels(config: Fields, notes: MigrationNotes): void {
  const names = Object.keys(fieldsAt(config, "channels")).filter((name) => !NO_CHANNELS.has(name));
  if (names.length === 0) return;
  notes.add(
    "lost",
    `${names.join(", ")} cannot be carried over: replies are kept in the channel console, or posted to a URL by the channel webhook.`,
    "channels",
  );
}

/** A reply to a channel that is not there is not sent, so that the mapping itself can stay. */
function withKnownChannels(block: HooksInput, notes: MigrationNotes): HooksInput {
  const mappings = block.mappings?.map((mapping: MappingInput, at): MappingInput => {
    const { channel, to: _, ...rest } = mapping;
    if (channel === undefined || CONSOLE.has(channel)) return mapping;
    notes.add(
      "lost",
      "is not a channel here, so deliver: false is written; the run still leaves its line in the main session.",
      `hooks.mappings[${at}].channel`,
    );
    return { ...rest, deliver: false };
  });
  return mappings === undefined ? block : { ...block, mappings };
}

/** Sections of OpenClaw's file that are about the hooks or the agents, and are named above. */
const CARRIED = new Set(["gateway", "agents", "models", "session", "channels", "hooks", "meta", "wizard", "$schema"]);

function noteRest(config: Fields, hooks: HostHooks, notes: MigrationNotes): void {
  const rest = Object.keys(config).filter((key) => !CARRIED.has(key));
  if (rest.length > 0)
    notes.add("lost", "The embedded gateway has no such section, so it is left out.", rest.join(", "));
  if (hooks.enabled !== true) notes.add("todo", "is false, as in OpenClaw; set it to true.", "hooks.enabled");
  if (hooks.mappings?.some(({ transform }) => transform !== undefined) === true) {
    notes.add("todo", "Copy the folder hooks/transforms of OpenClaw beside the new file.");
  }
  if (hooks.gmail?.account !== undefined) {
    notes.add("todo", "The embedded gateway does not run the Gmail watcher; run it as a service.", "hooks.gmail");
  }
}
