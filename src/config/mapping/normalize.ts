import type { Findings } from "../errors.ts";
import { readActors, readLeastLevel } from "./actors.ts";
import { readChatConfig } from "./chat.ts";
import { readRights } from "./rights.ts";
import { type MappingConfig, MappingSchema } from "./schema.ts";
import { readLinkHosts } from "../replies.ts";
import { type RetryConfig, DEFAULT_RETRY } from "../retry.ts";
import { normalizeRun } from "../run.ts";
import type { PresetMapping, PresetPart } from "../preset.ts";
import { readBodyBytes } from "../schema-parts.ts";
import type { MappingInput } from "../hooks.ts";

const defaults = MappingSchema.properties;

/** The preset's part of a mapping, which the mapping's own keys override. */
export interface MappingBase {
  readonly part: PresetPart;
  /** The preset's mapping for these settings. */
  readonly mapping: Partial<PresetMapping>;
}

/** A mapping's name and place, and what `hooks.retry` says. */
export interface MappingPlace {
  readonly id: string;
  readonly where: string;
  readonly retry: RetryConfig;
}

/**
 * Fills in what a mapping leaves out, first from its preset; `at` is its place in `hooks.mappings`, from 0.
 * `auth` and `settings` are left empty: {@link "./read".readMappings} reads them.
 */
export function normalizeMapping(
  input: MappingInput,
  at: number,
  findings: Findings,
  base?: MappingBase,
  retry: RetryConfig = DEFAULT_RETRY,
): MappingConfig {
  const id = trimmed(input.id) ?? `mapping-${at + 1}`;
  return fillIn(input, { id, where: `hooks.mappings[${at}]`, retry }, findings, base);
}

/** Like {@link normalizeMapping}, for a mapping that has its name and its place already. */
export function fillIn(
  input: MappingInput,
  { id, where, retry }: MappingPlace,
  findings: Findings,
  base?: MappingBase,
): MappingConfig {
  const { maxBodyBytes, transform } = input;
  const { part, mapping: given = {} } = base ?? {};
  const chat = input.chat && readChatConfig(input.chat, part?.name);
  const action = chat ? "wake" : (input.action ?? given.action ?? defaults.action.default);
  const sessionKey = trimmed(input.sessionKey);
  return {
    id,
    where,
    match: {
      path: withoutOuterSlashes(trimmed(input.match?.path)) ?? part?.name,
      source: trimmed(input.match?.source),
    },
    action,
    chat,
    actors: input.actors ? readActors(input.actors, where, findings) : given.actors,
    leastLevel: readLeastLevel(input.minLevel, input.below, { where, findings }) ?? given.leastLevel,
    links: input.links ? readLinkHosts(input.links) : given.links,
    acceptAllThree: trimmed(input.acceptAllThree) ?? given.acceptAllThree,
    rights: input.rights ? readRights(input.rights, `${where}.rights`, findings) : given.rights,
    wakeMode: input.wakeMode ?? given.wakeMode ?? defaults.wakeMode.default,
    name: trimmed(input.name) ?? given.name ?? part?.title,
    agentId: trimmed(input.agentId) ?? given.agentId,
    // A preset's key is for its runs: its wakes go to the main session.
    sessionKey: sessionKey ?? (action === "wake" ? undefined : given.sessionKey),
    instructions:
      input.instructions === undefined
        ? (given.instructions ?? (part && action === "agent" ? presetInstructions(part.title) : undefined))
        : trimmed(input.instructions),
    messageTemplate: input.messageTemplate ?? given.messageTemplate,
    // A preset that has a template has one for either action.
    textTemplate: input.textTemplate ?? given.textTemplate ?? (action === "wake" ? given.messageTemplate : undefined),
    forEach: input.forEach ?? given.forEach,
    tools: input.tools ?? given.tools,
    sessionMode: (input.sessionMode ?? given.sessionMode) === "persistent" ? "persistent" : undefined,
    deliver: input.deliver ?? given.deliver ?? defaults.deliver.default,
    allowUnsafeExternalContent:
      input.allowUnsafeExternalContent ??
      given.allowUnsafeExternalContent ??
      defaults.allowUnsafeExternalContent.default,
    channel: trimmed(input.channel) ?? given.channel ?? defaults.channel.default,
    to: trimmed(input.to) ?? given.to,
    model: trimmed(input.model) ?? given.model,
    thinking: trimmed(input.thinking) ?? given.thinking,
    timeoutSeconds: input.timeoutSeconds ?? given.timeoutSeconds,
    maxBodyBytes:
      maxBodyBytes === undefined ? given.maxBodyBytes : readBodyBytes(maxBodyBytes, `${where}.maxBodyBytes`, findings),
    accept: [...new Set(input.accept ?? given.accept ?? defaults.accept.default)],
    interrupted: input.interrupted ?? given.interrupted,
    transform: transform ? { module: transform.module.trim(), export: trimmed(transform.export) } : given.transform,
    preset: part?.name,
    sender: part?.name,
    settings: {},
    auth: undefined,
    handshakes: input.handshakes ?? given.handshakes ?? part?.handshakes ?? [],
    methods: [...new Set(input.methods ?? given.methods ?? part?.methods)],
    ignoreActors: readIgnored(input, where, findings) ?? given.ignoreActors ?? [],
    ignoreBots: input.ignoreBots ?? given.ignoreBots ?? defaults.ignoreBots.default,
    ...normalizeRun(input, given, { where, retry, findings }),
    contentSource: given.contentSource ?? part?.title ?? "Webhook",
    // Only the preset's own key is known to stay under its prefix.
    ownSessionPrefix: sessionKey === undefined ? given.ownSessionPrefix : undefined,
  };
}

/** The agent's task for an event of a sender whose owner has written none. */
function presetInstructions(title: string): string {
  return `Report the event of ${title} below in a few sentences: what happened, and what needs to be done about it, if anything.`;
}

/** Reads `ignoreActors`, or the same list under its earlier name. */
function readIgnored(
  { ignoreActors, ignoreSenders }: MappingInput,
  where: string,
  findings: Findings,
): string[] | undefined {
  if (ignoreActors !== undefined && ignoreSenders !== undefined) {
    findings.refuse(`${where}.ignoreSenders`, "is the earlier name of ignoreActors; leave it out");
  }
  return (ignoreActors ?? ignoreSenders)?.map((name) => name.trim()).filter(Boolean);
}

function trimmed(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

function withoutOuterSlashes(path: string | undefined): string | undefined {
  return path?.replaceAll(/^\/+|\/+$/g, "") || undefined;
}
