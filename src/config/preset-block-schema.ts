import Type from "typebox";
import type { Static } from "typebox";
import { MappingSchema } from "./mapping-schema.ts";
import type { PresetPart } from "./preset-part.ts";
import { secret, secrets, text } from "./schema-parts.ts";

const { auth, name, agentId, sessionKey, messageTemplate, textTemplate, action, wakeMode, deliver, channel, to } =
  MappingSchema.properties;
const { model, thinking, timeoutSeconds, transform, maxBodyBytes, accept, interrupted } = MappingSchema.properties;
const { ignoreActors, ignoreSenders, ignoreBots, handshakes, events, when, coalesce, order, overlap, maxAgeSeconds } =
  MappingSchema.properties;
const { priority, concurrency, retry, fallback, budget, respond, waitSeconds, mode } = MappingSchema.properties;

/** What every `hooks.<preset>` may hold besides the preset's own settings. */
export const PresetBlockSchema = Type.Object(
  {
    secret: Type.Optional(
      secrets(
        "The secret shared with the sender, under whatever name the sender has for it; of a list any is accepted.",
      ),
    ),
    path: Type.Optional(
      text({ description: "Path below `hooks.path` at which the sender calls. Absent: the preset's name." }),
    ),
    auth,
    name,
    agentId,
    sessionKey,
    messageTemplate,
    textTemplate,
    action,
    wakeMode,
    deliver,
    channel,
    to,
    model,
    thinking,
    timeoutSeconds,
    transform,
    maxBodyBytes,
    accept,
    interrupted,
    ignoreActors,
    ignoreSenders,
    ignoreBots,
    handshakes,
    events,
    when,
    coalesce,
    order,
    overlap,
    maxAgeSeconds,
    priority,
    concurrency,
    retry,
    fallback,
    budget,
    respond,
    waitSeconds,
    mode,
  },
  {
    additionalProperties: false,
    title: "an object of settings",
    description:
      "What there is to say of a preset. `secret` is all that most need; every other key comes before what the preset says, and is as it says when absent.",
  },
);

/** `hooks.<preset>` as it may be written, but for the preset's own settings. */
export type PresetBlockInput = Static<typeof PresetBlockSchema>;

/** A JSON schema of an object, as far as it is put together here. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

/** The preset's own settings as its author declares them, secrets marked; `undefined` when it has none. */
export function declaredSettings({ settings, secretSettings }: PresetPart): ObjectSchema | undefined {
  if (settings === undefined) return undefined;
  // Whatever library it was written with, a schema is what it says as JSON.
  const plain = JSON.parse(JSON.stringify(settings)) as ObjectSchema;
  const properties = Object.entries(plain.properties).map(([key, schema]) => [
    key,
    secretSettings.includes(key) ? { ...schema, writeOnly: true } : schema,
  ]);
  return {
    ...plain,
    properties: Object.fromEntries(properties) as ObjectSchema["properties"],
    additionalProperties: false,
  };
}

/**
 * The preset's own settings as an operator writes them: a secret in any of its forms, and none required,
 * since `hooks.<preset>` and a mapping's `settings` complete each other.
 */
export function writtenSettings(preset: PresetPart): ObjectSchema {
  const properties = Object.entries(declaredSettings(preset)?.properties ?? {}).map(([key, schema]) => {
    const { description } = schema as { description?: string };
    return [key, preset.secretSettings.includes(key) ? secret(description ?? "A secret.") : schema];
  });
  return {
    type: "object",
    properties: Object.fromEntries(properties) as ObjectSchema["properties"],
    additionalProperties: false,
  };
}

/** The whole of `hooks.<preset>` as an operator writes it; a setting comes before a key of the same name. */
export function presetBlockSchema(preset: PresetPart): ObjectSchema {
  const common = JSON.parse(JSON.stringify(PresetBlockSchema)) as ObjectSchema;
  return { ...common, properties: { ...common.properties, ...writtenSettings(preset).properties } };
}
