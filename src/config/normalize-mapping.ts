import type { Findings } from "./findings.ts";
import type { MappingConfig } from "./hooks-config.ts";
import { MappingSchema } from "./mapping-schema.ts";
import { readBodyBytes } from "./quantity.ts";
import type { MappingInput } from "./schema.ts";

const defaults = MappingSchema.properties;

/** Fills in what a mapping leaves out; `at` is its place in `hooks.mappings`, from 0. */
export function normalizeMapping(input: MappingInput, at: number, findings: Findings): MappingConfig {
  const where = `hooks.mappings[${at}]`;
  const { maxBodyBytes, transform } = input;
  return {
    id: trimmed(input.id) ?? `mapping-${at + 1}`,
    where,
    match: { path: withoutOuterSlashes(trimmed(input.match?.path)), source: trimmed(input.match?.source) },
    action: input.action ?? defaults.action.default,
    wakeMode: input.wakeMode ?? defaults.wakeMode.default,
    name: trimmed(input.name),
    agentId: trimmed(input.agentId),
    sessionKey: trimmed(input.sessionKey),
    messageTemplate: input.messageTemplate,
    textTemplate: input.textTemplate,
    forEach: input.forEach,
    deliver: input.deliver ?? defaults.deliver.default,
    allowUnsafeExternalContent: input.allowUnsafeExternalContent ?? defaults.allowUnsafeExternalContent.default,
    channel: trimmed(input.channel) ?? defaults.channel.default,
    to: trimmed(input.to),
    model: trimmed(input.model),
    thinking: trimmed(input.thinking),
    timeoutSeconds: input.timeoutSeconds,
    maxBodyBytes:
      maxBodyBytes === undefined ? undefined : readBodyBytes(maxBodyBytes, `${where}.maxBodyBytes`, findings),
    accept: [...new Set(input.accept ?? defaults.accept.default)],
    interrupted: input.interrupted,
    transform: transform && { module: transform.module.trim(), export: trimmed(transform.export) },
    contentSource: "Webhook",
    ownSessionPrefix: undefined,
  };
}

function trimmed(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

function withoutOuterSlashes(path: string | undefined): string | undefined {
  return path?.replaceAll(/^\/+|\/+$/g, "") || undefined;
}
