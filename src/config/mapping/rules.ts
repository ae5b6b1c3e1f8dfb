import { isDeepStrictEqual } from "node:util";
import type { AgentCatalog, ChannelInfo, GatewayFacts } from "../../core/host.ts";
import type { Findings } from "../errors.ts";
import type { HooksConfig } from "../hooks.ts";
import type { MappingConfig } from "./schema.ts";
import { LEVELS } from "../../core/delivery.ts";
import { checkSessionKeyForm, hasPrefix, isTemplated } from "../session.ts";
import { showNames, showValue } from "../show-value.ts";
import { checkChannel } from "../channel-target.ts";
import { checkChat } from "./chat.ts";
import { checkEnforceable } from "./enforceable.ts";
import { checkExtract, checkExtractor } from "./extract-rules.ts";
import { checkPlaceholders, checkRecipients } from "./placeholders.ts";
import { checkRunKeys } from "./run-rules.ts";
import { checkWaitedHooks } from "./wait-rules.ts";

/** The parts of the gateway that a mapping may refer to. */
export interface References {
  readonly gateway: Pick<GatewayFacts, "takesOwnerMessages">;
  readonly agents: AgentCatalog;
  readonly channels: readonly ChannelInfo[] | undefined;
}

/** Keys that only a run of an agent reads. */
const AGENT_ONLY = [
  "instructions",
  "messageTemplate",
  "sessionMode",
  "workspace",
  "to",
  "model",
  "thinking",
  "timeoutSeconds",
] as const;
/** Paths that no mapping gets. */
const ENDPOINTS: ReadonlySet<string> = new Set(["wake", "agent"]);
/** A path as a URL carries it: unescaped characters and escapes (RFC 3986, 3.3). */
const SENT_PATH = /^(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-Fa-f]{2})*$/;

/** The key of a mapping's path; that of an enabled preset is in its block. */
function pathKeyOf({ where }: Pick<MappingConfig, "where">): string {
  return where.startsWith("hooks.mappings[") ? `${where}.match.path` : `${where}.path`;
}

/**
 * Checks one mapping by itself: refuses what can never work and warns of what has no effect. `written` are
 * the keys that its author wrote.
 */
export function checkMapping(mapping: MappingConfig, written: object, findings: Findings): void {
  const { where, match, transform, preset } = mapping;
  const needed = mapping.action === "wake" ? "textTemplate" : "messageTemplate";
  // A preset has templates of its own.
  if (!transform && preset === undefined && !mapping[needed]?.trim()) {
    findings.refuse(where, `the action ${mapping.action} needs ${needed} or transform`);
  }
  if (match.path !== undefined && ENDPOINTS.has(match.path)) {
    findings.warn(
      pathKeyOf(mapping),
      `${showValue(match.path)} is a built-in endpoint, which comes first: this mapping does not get its requests`,
    );
  } else if (match.path !== undefined && !SENT_PATH.test(match.path)) {
    findings.warn(
      pathKeyOf(mapping),
      `${showValue(match.path)} can never match: paths are compared as they are sent, with ? and # cut off and the rest percent-encoded`,
    );
  }
  if (mapping.sessionKey !== undefined && !isTemplated(mapping.sessionKey)) {
    checkSessionKeyForm(mapping.sessionKey, `${where}.sessionKey`, findings);
  }
  checkPlaceholders(mapping, written, findings);
  checkRecipients(mapping, findings);
  checkInstructions(mapping.instructions, `${where}.instructions`, findings);
  if (!transform) warnOfUnread(mapping, written, findings);
  checkRunKeys(mapping, written, findings);
  checkChat(mapping, written, findings);
  checkExtract(mapping, findings);
}

/** Refuses a placeholder in text that is outside the boundary. */
export function checkInstructions(instructions: string | undefined, where: string, findings: Findings): void {
  if (instructions?.includes("{{") !== true) return;
  findings.refuse(
    where,
    "takes no placeholders, because it is outside the boundary; put what the payload says into messageTemplate",
  );
}

/** Warns of keys that the mapping's action does not read. */
function warnOfUnread(mapping: MappingConfig, written: object, findings: Findings): void {
  const unread = mapping.action === "wake" ? AGENT_ONLY : (["textTemplate"] as const);
  for (const key of unread) {
    if (mapping[key] === undefined || !Object.hasOwn(written, key)) continue;
    findings.warn(`${mapping.where}.${key}`, `has no effect with the action ${mapping.action}`);
  }
}

/** Warns of keys that only a sender with an `auth` of its own gives a meaning. */
export function warnOfNoSender({ where, auth }: MappingConfig, written: object, findings: Findings): void {
  for (const key of auth === undefined ? (["handshakes", "methods"] as const) : []) {
    if (Object.hasOwn(written, key))
      findings.warn(`${where}.${key}`, "has no effect without auth, with the hook token");
  }
}

/** Checks the agents, models, channels and sessions of a mapping by what exists and is allowed. */
export function checkReferences(
  mapping: MappingConfig,
  config: HooksConfig,
  { gateway, agents, channels }: References,
  findings: Findings,
): void {
  const { where, agentId, chat, match } = mapping;
  const { id } = agents.resolve(agentId);
  if (match.path !== undefined && `/${match.path}/`.startsWith(`${config.path}/`)) {
    findings.warn(pathKeyOf(mapping), `begins with hooks.path, which comes before it: ${config.path}/${match.path}`);
  }
  if (agentId !== undefined) {
    const list = agents.list().map((agent) => agent.id);
    if (!isKnownAgent(agents, agentId)) {
      findings.refuseReference(
        `${where}.agentId`,
        `no agent is called ${showValue(agentId)}; there ${list.length === 1 ? "is" : "are"} ${showNames(list)}`,
      );
    } else if (config.allowedAgentIds?.has(id) === false) {
      findings.warn(`${where}.agentId`, "is not in hooks.allowedAgentIds: calls that use it are answered 400");
    }
  }
  checkSessionKey(mapping, config, findings);
  const hasKey = (mapping.sessionKey ?? config.defaultSessionKey) !== undefined || mapping.transform !== undefined;
  if (mapping.sessionMode === "persistent" && !hasKey && mapping.wait === undefined) {
    findings.warn(`${where}.sessionMode`, "has no effect without a sessionKey: each run then has a session of its own");
  }
  if (chat && gateway.takesOwnerMessages !== true) {
    findings.refuseReference(
      `${where}.chat`,
      "is for gateways without chats of their own; connect the chat to the host",
    );
  } else if (chat) {
    checkChannel(chat.channel, `${where}.chat.channel`, channels, findings);
  }
  checkEnforceable(mapping, { agents, channels }, findings);
  checkWaitedHooks(mapping, config, findings);
  if (mapping.action === "wake") return;
  checkRights(mapping, { agents, channels }, findings);
  checkExtractor(mapping, agents, findings);
  checkModel(mapping.model, `${where}.model`, { agents, agentId: id }, findings);
  if (mapping.deliver) {
    checkChannel(mapping.channel, `${where}.channel`, channels, findings);
    if (mapping.fallback) checkChannel(mapping.fallback.channel, `${where}.fallback.channel`, channels, findings);
  }
}

/** Checks the agents and channels that levels choose; levels that share their rights are checked once. */
function checkRights(
  { where, rights }: MappingConfig,
  { agents, channels }: Pick<References, "agents" | "channels">,
  findings: Findings,
): void {
  const checked = new Set<object>();
  for (const level of LEVELS) {
    const { agentId, channel } = rights?.[level] ?? {};
    if (rights === undefined || checked.has(rights[level])) continue;
    checked.add(rights[level]);
    if (agentId !== undefined && !isKnownAgent(agents, agentId)) {
      findings.refuseReference(`${where}.rights.${level}.agentId`, `no agent is called ${showValue(agentId)}`);
    }
    if (channel !== undefined) checkChannel(channel, `${where}.rights.${level}.channel`, channels, findings);
  }
}

/** Warns of a key that policy answers with 400 on each call. */
function checkSessionKey(mapping: MappingConfig, config: HooksConfig, findings: Findings): void {
  const { where, sessionKey, ownSessionPrefix } = mapping;
  if (sessionKey === undefined || ownSessionPrefix !== undefined) return;
  if (isTemplated(sessionKey)) {
    if (config.allowRequestSessionKey) return;
    findings.warn(
      `${where}.sessionKey`,
      "is a template, so it counts as a key from the caller: calls are answered 400 until hooks.allowRequestSessionKey is true",
    );
  } else if (!hasPrefix(sessionKey, config.allowedSessionKeyPrefixes)) {
    findings.warn(
      `${where}.sessionKey`,
      "does not begin with one of hooks.allowedSessionKeyPrefixes: calls that use it are answered 400",
    );
  }
}

/** Refuses a fixed model that the gateway does not know or that the agent's allowlist does not hold. */
function checkModel(
  model: string | undefined,
  path: string,
  { agents, agentId }: { readonly agents: AgentCatalog; readonly agentId: string },
  findings: Findings,
): void {
  if (model === undefined || isTemplated(model)) return;
  const allowed = agents.allowedModels(agentId);
  const problem = agents.modelProblem?.(model);
  if (allowed?.includes(model) === false && (allowed.length > 0 || problem === undefined)) {
    findings.refuseReference(
      path,
      `${showValue(model)} is not one of the gateway's allowed models: ${showNames(allowed)}`,
    );
    return;
  }
  if (problem !== undefined) findings.refuseReference(path, problem);
}

/** True when the id resolves to the agent it names, in the writing of the gateway, and not to the default one. */
export function isKnownAgent(agents: AgentCatalog, agentId: string): boolean {
  const { id } = agents.resolve(agentId);
  // `resolve` returns the default agent both for its own id and for an unknown one.
  return id !== agents.resolve(undefined).id || plainName(id) === plainName(agentId);
}

function plainName(agentId: string): string {
  const name = agentId.toLowerCase();
  const plain = name.replaceAll(/[^a-z0-9_-]+/g, "-").replaceAll(/^-+|-+$/g, "");
  return plain === "" ? name : plain;
}

/**
 * Refuses mappings whose authentication does not follow from the path alone: it is needed before the body
 * is read, so all mappings of a path have the same.
 */
export function checkRoutes(mappings: readonly MappingConfig[], findings: Findings): void {
  const first = new Map<string, MappingConfig>();
  const parents = new Map(mappings.filter(takesPathSecret).map((mapping) => [mapping.match.path, mapping]));
  for (const mapping of mappings) {
    const { where, match, auth } = mapping;
    if (match.path === undefined) {
      refuseAnyPath(mapping, findings);
      continue;
    }
    if (auth !== undefined && ENDPOINTS.has(match.path)) {
      findings.refuse(
        pathKeyOf(mapping),
        `${showValue(match.path)} is a built-in endpoint, which takes the hook token alone; choose another path for a sender with auth`,
      );
    }
    const parent = parents.get(match.path.slice(0, Math.max(0, match.path.lastIndexOf("/"))));
    if (parent !== undefined && auth === undefined) {
      findings.refuse(
        pathKeyOf(mapping),
        `${showValue(match.path)} is below ${showValue(parent.match.path)}, where ${parent.where} takes the last segment for its secret; choose another path`,
      );
    }
    const other = first.get(match.path);
    if (other === undefined) first.set(match.path, mapping);
    else if (!isDeepStrictEqual(other.auth, auth)) {
      findings.refuse(
        where,
        `has the path ${showValue(match.path)} like ${other.where}, and another auth or secret: give both the same, or another path to one`,
      );
    }
  }
}

function takesPathSecret({ auth }: MappingConfig): boolean {
  return auth?.scheme === "secret" && auth.from.includes("path");
}

function refuseAnyPath({ where, auth, handshakes, methods }: MappingConfig, findings: Findings): void {
  const why =
    (auth !== undefined && "a sender with auth") ||
    (handshakes.length > 0 && "a handshake") ||
    (methods.length > 0 && "another method");
  if (why) findings.refuse(`${where}.match.path`, `is required: ${why} needs a path of its own`);
}

/**
 * For each mapping the place of an earlier one that takes all its requests, if there is one: the
 * earlier has no path or the same, and no source or the same. What is shadowed never takes effect.
 * Costs the same for each mapping, however many there are.
 */
export function findShadows(mappings: readonly (MappingConfig | undefined)[]): (number | undefined)[] {
  const firstOf = new Map<string, number>();
  return mappings.map((mapping, at) => {
    if (!mapping) return undefined;
    const { path, source } = mapping.match;
    const own = matchKey(path, source);
    const covering = [matchKey(undefined, undefined), matchKey(path, undefined), matchKey(undefined, source), own];
    const places = covering.map((each) => firstOf.get(each)).filter((place) => place !== undefined);
    if (places.length > 0) return Math.min(...places);
    firstOf.set(own, at);
    return undefined;
  });
}

function matchKey(path: string | undefined, source: string | undefined): string {
  return JSON.stringify([path ?? "", source ?? ""]);
}
