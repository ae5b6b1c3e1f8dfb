/** What the configuration has to know of a preset to read what is written about it. */
import type { AuthInput } from "./auth-schema.ts";
import type { Handshake } from "./handshake-schema.ts";
import type { MappingConfig, PresetSettings } from "./hooks-config.ts";

export type { PresetSettings } from "./hooks-config.ts";

/** An object schema of either library, `typebox` or `@sinclair/typebox`: what both print is JSON Schema. */
export interface SettingsSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[] | undefined;
}

export interface PresetPart {
  readonly name: string;
  /** For messages: `GitHub`. */
  readonly title: string;
  /** How the sender proves who it is; without `secret`, which the configuration gives. */
  auth(settings: PresetSettings): AuthInput;
  readonly secret: PresetSecret | undefined;
  /** Schema of the further keys. */
  readonly settings: SettingsSchema | undefined;
  /** Names of settings that are secrets: resolved like `secret`, compared in constant time. */
  readonly secretSettings: readonly string[];
  readonly handshakes: readonly Handshake[];
  /** Methods besides `POST` that carry events. */
  readonly methods: readonly string[];
  /** How an event's name is found, in words; `undefined`: its events have none. */
  readonly eventSource: string | undefined;
  /** What its mapping says that differs from the defaults. */
  mapping(settings: PresetSettings): Partial<PresetMapping>;
}

/** The keys of a mapping that a preset fills in; the operator's own come first. */
export type PresetMapping = Omit<MappingConfig, "id" | "where" | "preset" | "auth" | "match" | "settings">;

/** The secret that a preset's route needs. */
export interface PresetSecret {
  /** What the sender calls it: `Webhook secret`, `Signing secret`, `Public key`. */
  readonly label: string;
  /** False: the route works without, by what else `auth` says. */
  readonly required: boolean;
  /** `owner`: anyone may make it up, for example with openssl; `sender`: the sender shows it. */
  readonly madeBy: "owner" | "sender";
  /** Shortest length in characters. */
  readonly minLength: number;
  /** Secrets of the sender's documentation that everybody knows. */
  readonly known: readonly string[];
}
