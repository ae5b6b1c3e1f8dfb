/** OpenClaw's `hooks` block in our form. */
import { BODY_BYTES } from "../../../config/schema-parts.ts";
import type { HooksInput, MappingInput } from "../../../config/hooks.ts";
import { hasPrefix, readPrefixes } from "../../../config/session.ts";
import { hasReference } from "./environment-references.ts";
import { countOf, type HostHooks, type HostMapping } from "./hooks-schema.ts";
import { translateModel } from "./model-choice.ts";
import {
  hasTemplatedKey,
  MAX_RUN_SECONDS,
  notBlank,
  translateAgentId,
  type TranslateContext,
  translateMapping,
} from "./translate-mapping.ts";

const GENERATED = "hook:";

/**
 * The prefixes of session keys. A block of before 2026.4.20 may have templated keys and no prefixes: then
 * they are taken from what stands before the templates. Where nothing does, the block stays as it is, and
 * reading it says what to write.
 */
function translatePrefixes(hooks: HostHooks, { notes }: TranslateContext): readonly string[] | undefined {
  const written = hooks.allowedSessionKeyPrefixes;
  const mappings = hooks.mappings ?? [];
  const templated = mappings.filter(hasTemplatedKey);
  if (readPrefixes(written).length > 0 || templated.length === 0) return written;
  const starts = templated.map(({ sessionKey = "" }) => startOf(sessionKey));
  if (starts.some((start) => start === "" || hasReference(start))) return written;
  const fixed = mappings.flatMap((mapping) => {
    const key = notBlank(mapping.sessionKey)?.trim();
    return key === undefined || hasTemplatedKey(mapping) ? [] : [key];
  });
  const wanted = [notBlank(hooks.defaultSessionKey)?.trim() ?? GENERATED, ...starts, ...fixed];
  if (wanted.some(hasReference)) return written;
  const prefixes = shortest(readPrefixes(wanted));
  notes.add(
    "written",
    `is ${JSON.stringify(prefixes)}, from the keys that are written: a key that is a template needs it, as in OpenClaw since 2026.4.20.`,
    "plugins.entries.reveille.config.allowedSessionKeyPrefixes",
  );
  return prefixes;
}

/** The text before the first template. */
function startOf(key: string): string {
  return key.trimStart().split("{{")[0] ?? "";
}

/** Without those that another one covers. */
function shortest(prefixes: readonly string[]): string[] {
  return prefixes.filter((prefix) => !prefixes.some((other) => other !== prefix && hasPrefix(prefix, [other])));
}

/** The header that OpenClaw's senders may carry the token in. */
const TOKEN_HEADER = "X-OpenClaw-Token";
const DEFAULT_PATH = "/hooks";
const GMAIL = "gmail";
/** As OpenClaw bounds what is posted to its path `gmail`: 100 mails, three bytes for each of a body and 8 KiB more. */
const GMAIL_BYTES = { mails: 100, perByte: 3, overhead: 8_192, minimum: 262_144, maximum: 33_554_432, default: 20_000 };

/** Translates a block that `checkHostHooks` took; a part that cannot be carried over is noted. */
export function translateHooks(hooks: HostHooks, context: TranslateContext): HooksInput {
  const written = hooks.mappings ?? [];
  const mappings = uniqueIds(
    written.map((mapping, at) => gmailRules(translateMapping(mapping, at, context), mapping, at, hooks, context)),
    context,
  );
  const presets = translatePresets(hooks, context);
  const bytes = countOf(hooks.maxBodyBytes);
  const block: Record<string, unknown> = {
    enabled: true,
    token: hooks.token,
    tokenHeader: TOKEN_HEADER,
    path: notBlank(hooks.path)?.trim() ?? DEFAULT_PATH,
    maxBodyBytes: bytes === undefined ? undefined : translateBytes(bytes, context),
    defaultSessionKey: notBlank(hooks.defaultSessionKey)?.trim(),
    allowRequestSessionKey: hooks.allowRequestSessionKey,
    allowedSessionKeyPrefixes: translatePrefixes(hooks, context),
    allowedAgentIds: hooks.allowedAgentIds?.map((id, at) => allowedAgent(id, at, context)),
    requireAllowedAgent: hooks.allowedAgentIds === undefined ? undefined : true,
    defaultTimeoutSeconds: defaultTimeout(context),
    transformsDir: notBlank(hooks.transformsDir)?.trim(),
    transforms: context.isolation === "none" && hasTransforms(hooks) ? { isolation: "none" } : undefined,
    presets: presets.length > 0 ? presets : undefined,
    mappings: mappings.length > 0 ? mappings : undefined,
    gmail: presets.includes(GMAIL) ? translateGmail(hooks, context) : undefined,
  };
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== undefined)) as HooksInput;
}

function hasTransforms({ mappings = [] }: HostHooks): boolean {
  return mappings.some(({ transform }) => transform !== undefined);
}

function allowedAgent(id: string, at: number, context: TranslateContext): string {
  if (id.trim() === "*") return id;
  return translateAgentId(id, `hooks.allowedAgentIds[${at}]`, context) ?? id;
}

function translateBytes(bytes: number, { notes }: TranslateContext): number {
  if (bytes <= BODY_BYTES.maximum) return bytes;
  notes.add("lost", `is written as ${BODY_BYTES.maximum} bytes, the largest that there is.`, "hooks.maxBodyBytes");
  return BODY_BYTES.maximum;
}

/** Without one of ours, a run would have ten minutes instead of the host's time. */
function defaultTimeout({ facts, notes }: TranslateContext): number | undefined {
  const { timeoutSeconds } = facts;
  if (timeoutSeconds === undefined) return undefined;
  const seconds = timeoutSeconds === 0 ? MAX_RUN_SECONDS : Math.min(timeoutSeconds, MAX_RUN_SECONDS);
  notes.add(
    "written",
    `defaultTimeoutSeconds is ${seconds}, after agents.defaults.timeoutSeconds.`,
    "plugins.entries.reveille.config",
  );
  return seconds;
}

/** OpenClaw has one preset and passes over other names; ours would take calls of senders that no one meant. */
function translatePresets({ presets = [] }: HostHooks, { notes }: TranslateContext): readonly string[] {
  for (const [at, name] of presets.entries()) {
    if (name === GMAIL) continue;
    notes.add(
      "lost",
      "is left out: OpenClaw has no preset of that name and passes over it. To take calls of that sender, see: openclaw reveille presets",
      `hooks.presets[${at}]`,
    );
  }
  return presets.includes(GMAIL) ? [GMAIL] : [];
}

/** The settings that the preset reads; the watcher's own stay where the host's command looks for them. */
function translateGmail({ gmail = {} }: HostHooks, context: TranslateContext): HooksInput["gmail"] {
  const model = translateModel(gmail.model, "hooks.gmail.model", context);
  const bytes = countOf(gmail.maxBytes);
  const block = {
    ...(model === undefined ? {} : { model }),
    ...(gmail.thinking === undefined ? {} : { thinking: gmail.thinking }),
    ...(gmail.allowUnsafeExternalContent === undefined
      ? {}
      : { allowUnsafeExternalContent: gmail.allowUnsafeExternalContent }),
    ...(bytes === undefined ? {} : { maxBytes: Math.min(bytes, 10_485_760) }),
  };
  return Object.keys(block).length > 0 ? block : undefined;
}

/** A mapping of one's own at the path `gmail` is held to what `hooks.gmail` says as well. */
function gmailRules(
  mapping: MappingInput,
  written: HostMapping,
  at: number,
  { gmail = {} }: HostHooks,
  context: TranslateContext,
): MappingInput {
  if (written.match?.path?.trim().replaceAll(/^\/+|\/+$/g, "") !== GMAIL) return mapping;
  const { mails, perByte, overhead, minimum, maximum } = GMAIL_BYTES;
  const bytes = mails * (perByte * (countOf(gmail.maxBytes) ?? GMAIL_BYTES.default) + overhead);
  const limit = { maxBodyBytes: Math.max(minimum, Math.min(maximum, bytes)) };
  if (written.action === "wake") return { ...mapping, ...limit };
  const where = `hooks.mappings[${at}]`;
  const chosen = notBlank(written.model);
  const model = chosen === undefined ? translateModel(gmail.model, `${where}.model`, context) : undefined;
  const isUnsafe = written.allowUnsafeExternalContent === undefined && gmail.allowUnsafeExternalContent === true;
  return {
    ...mapping,
    ...limit,
    ...(model === undefined ? {} : { model }),
    ...(gmail.thinking === undefined || notBlank(written.thinking) !== undefined ? {} : { thinking: gmail.thinking }),
    ...(isUnsafe ? { allowUnsafeExternalContent: true } : {}),
  };
}

/** OpenClaw does not mind two mappings of one id. */
function uniqueIds(mappings: readonly MappingInput[], { notes }: TranslateContext): MappingInput[] {
  const ids = mappings.map(({ id }, at) => id?.trim() || `mapping-${at + 1}`);
  const taken = new Set<string>();
  return mappings.map((mapping, at) => {
    const wanted = ids[at] ?? "";
    let id = wanted;
    for (let count = 2; taken.has(id) || (id !== wanted && ids.includes(id)); count++) id = `${wanted}-${count}`;
    taken.add(id);
    if (id === wanted) return mapping;
    notes.add("written", `is "${id}", since an earlier mapping has the id as well.`, `hooks.mappings[${at}].id`);
    return { ...mapping, id };
  });
}
