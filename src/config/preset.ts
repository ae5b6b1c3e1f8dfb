import Type, { type Static } from "typebox";
import type { AuthInput } from "./auth/schema.ts";
import type { Handshake } from "./handshake.ts";
import { type MappingConfig, type PresetSettings, MappingSchema } from "./mapping/schema.ts";
import { secret, secrets, text } from "./schema-parts.ts";

/** What a mapping has that `hooks.<preset>` says otherwise, or leaves to mappings. */
const MAPPING_ONLY = [
  "id",
  "match",
  "preset",
  "settings",
  "secret",
  "methods",
  "forEach",
  "allowUnsafeExternalContent",
] as const;

/** The keys of every `hooks.<preset>`, without the preset's own settings. */
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
    ...Type.Omit(MappingSchema, MAPPING_ONLY).properties,
  },
  {
    additionalProperties: false,
    title: "an object of settings",
    description: "Settings of a preset. Most need only `secret`. Every other key overrides what the preset says.",
  },
);

/** `hooks.<preset>` as written, without the preset's own settings. */
export type PresetBlockInput = Static<typeof PresetBlockSchema>;

/** The parts of an object's JSON schema that this module builds. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

/** The preset's own settings as its author declares them, secrets marked; `undefined` when it has none. */
export function declaredSettings({ settings, secretSettings }: PresetPart): ObjectSchema | undefined {
  if (settings === undefined) return undefined;
  // The schema may come from either version of the library: its JSON is the same.
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

export type { PresetSettings } from "./mapping/schema.ts";

/** An object schema of either library, `typebox` or `@sinclair/typebox`: what both print is JSON Schema. */
export interface SettingsSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[] | undefined;
}

/** The part of a preset that the configuration needs in order to read its settings. */
export interface PresetPart {
  readonly name: string;
  /** For messages: `GitHub`. */
  readonly title: string;
  /** The authentication of the sender, without `secret`, which comes from the configuration. */
  auth(settings: PresetSettings): AuthInput;
  readonly secret: PresetSecret | undefined;
  /** Schema of the further keys. */
  readonly settings: SettingsSchema | undefined;
  /** Names of settings that are secrets: resolved like `secret`, compared in constant time. */
  readonly secretSettings: readonly string[];
  readonly handshakes: readonly Handshake[];
  /** Methods besides `POST` that carry events. */
  readonly methods: readonly string[];
  /** True when it knows the messages of a private chat. */
  readonly hasChat: boolean;
  /** True when the actor's id is one that the sender gives its accounts. */
  readonly vouchesForActors: boolean;
  /** True when it knows what its events are about. */
  readonly knowsObjects: boolean;
  /** Describes the source of an event's name; `undefined`: its events have no name. */
  readonly eventSource: string | undefined;
  /** The keys of its mapping that differ from the defaults. */
  mapping(settings: PresetSettings): Partial<PresetMapping>;
}

/** The keys of a mapping that a preset fills in; the operator's own come first. */
export type PresetMapping = Omit<
  MappingConfig,
  "id" | "where" | "preset" | "sender" | "broken" | "auth" | "match" | "settings" | "chat"
>;

/** The secret that a preset's route needs. */
export interface PresetSecret {
  /** The sender's name for it: `Webhook secret`, `Signing secret`, `Public key`. */
  readonly label: string;
  /** False: the route works without one. */
  readonly required: boolean;
  /** `owner`: the owner generates it, for example with openssl; `sender`: the sender shows it. */
  readonly madeBy: "owner" | "sender";
  /** Shortest length in characters. */
  readonly minLength: number;
  /** Secrets from the sender's documentation, which are public. */
  readonly known: readonly string[];
}
