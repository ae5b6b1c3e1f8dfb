/** The presets that a plugin brings in its manifest. */
import { ConfigError } from "../../../config/errors.ts";
import { showKeyPath } from "../../../config/show-value.ts";
import { reasonLine } from "../../../core/reason-of.ts";
import type { GatewayHost, GatewayPlugin } from "../../../core/host.ts";
import { definePreset, type Preset, type PresetDefinition, WebhookIngress } from "../../../index.ts";
import { PluginError, PluginRefusal } from "../errors.ts";
import type { PluginManifest } from "./manifest.ts";
import type { PluginModules } from "./modules.ts";

/** A preset, and the module that it came from. */
export interface PluginPreset {
  readonly preset: Preset;
  readonly file: string;
}

export interface LoadPresetsOptions {
  readonly modules: Pick<PluginModules, "load">;
  /** Plugins that come before, whose names are taken. */
  readonly others: readonly { readonly id: string; readonly presets: readonly PluginPreset[] }[];
}

/**
 * Loads the preset of each module that the manifest names: the default export, which is what
 * `definePreset` made or its definition. Rejects with a {@link PluginError} that names the file.
 */
export async function loadPluginPresets(
  { presets: files }: PluginManifest,
  { modules, others }: LoadPresetsOptions,
): Promise<readonly PluginPreset[]> {
  const loaded: PluginPreset[] = [];
  for (const file of files) {
    const preset = namedPreset(await modules.load(file), file);
    for (const { id, presets } of [{ id: undefined, presets: loaded }, ...others]) {
      const twin = presets.find((other) => other.preset.name === preset.name);
      if (twin === undefined) continue;
      const whose = id === undefined ? "the same plugin" : `the plugin "${id}"`;
      throw new PluginRefusal(
        `${file}: the preset "${preset.name}" has the name of one of ${whose} (${twin.file}); give it another name`,
      );
    }
    loaded.push({ preset, file });
  }
  return loaded;
}

function namedPreset(exported: unknown, file: string): Preset {
  try {
    return readPreset(exported, file);
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw new PluginError(`${file}: ${reasonLine(error)}`, { cause: error });
  }
}

function readPreset(exported: unknown, file: string): Preset {
  const value =
    typeof exported === "object" && exported !== null && "default" in exported ? exported.default : exported;
  if (typeof value !== "object" || value === null || !("name" in value)) {
    throw new PluginError(`${file}: exports no preset by default; write: export default definePreset({ ... })`);
  }
  if (isDefined(value)) return value;
  const missing = REQUIRED_KEYS.filter((key) => !Object.hasOwn(value, key));
  if (missing.length > 0) throw new PluginError(`${file}: the preset lacks ${missing.join(", ")}`);
  return definePreset(value as PresetDefinition);
}

/** Frozen, and with all that `definePreset` makes of a definition. */
function isDefined(value: object): value is Preset {
  const parts: Readonly<Record<string, unknown>> = { ...value };
  return (
    Object.isFrozen(value) &&
    DERIVED_KEYS.every((key) => typeof parts[key] === "function") &&
    REQUIRED_KEYS.every((key) => parts[key] !== undefined)
  );
}

const DERIVED_KEYS = ["auth", "mapping", "eventOf", "deliveryIdOf", "senderOf", "unwrap", "skip", "message", "answer"];

const REQUIRED_KEYS = ["title", "documentation", "auth", "samples", "setup"];

/**
 * Adds the presets whenever a configuration is loaded, before any class of a plugin adds its own. A name
 * that is taken refuses the configuration.
 */
export function tapPresets(host: GatewayHost, id: string, presets: readonly PluginPreset[]): void {
  WebhookIngress.hooks(host).presets.tap({ name: id, stage: -1 }, (registry) => {
    for (const { preset, file } of presets) {
      if (registry.get(preset.name) !== undefined) {
        const message = `${file}: the preset "${preset.name}" has the name of a built-in one; give it another name`;
        throw new ConfigError([{ path: showKeyPath(["plugins", "entries", id]), message }]);
      }
      registry.add(preset);
    }
  });
}

/** A plugin's class: the constructor validates and stores options. */
type PluginClass = new (config: unknown) => GatewayPlugin;

/**
 * Finds the class among a module's exports: the default export, or the only one exported that has
 * `apply`; of CommonJS also the module itself. Throws a {@link PluginError} that names the file.
 */
export function findPluginClass(exported: unknown, file: string): PluginClass {
  try {
    return readClass(exported, file);
  } catch (error) {
    if (error instanceof PluginError) throw error;
    // A getter or a proxy among the exports.
    throw new PluginError(`${file}: what it exports cannot be read: ${reasonLine(error)}`, { cause: error });
  }
}

function readClass(exported: unknown, file: string): PluginClass {
  if (isPluginClass(exported)) return exported;
  const exports = typeof exported === "object" && exported !== null ? Object.entries(exported) : [];
  const preferred = exports.find(([name]) => name === "default")?.[1] as unknown;
  if (isPluginClass(preferred)) return preferred;
  const classes = new Set(exports.map(([, value]) => value as unknown).filter(isPluginClass));
  const [only, ...others] = classes;
  if (only === undefined) {
    const hint = isPreset(preferred)
      ? 'it exports a preset: name the file in "presets" instead'
      : "export one by default";
    throw new PluginError(`${file}: exports no class with an apply method; ${hint}`);
  }
  if (others.length > 0) {
    throw new PluginError(`${file}: exports several classes with an apply method; export one by default`);
  }
  return only;
}

/** Every function has `apply`; what counts is one on the prototype, which only instances see. */
function isPluginClass(value: unknown): value is PluginClass {
  if (typeof value !== "function") return false;
  const prototype = (value as { prototype?: unknown }).prototype;
  return (
    typeof prototype === "object" && prototype !== null && "apply" in prototype && typeof prototype.apply === "function"
  );
}

function isPreset(value: unknown): boolean {
  return typeof value === "object" && value !== null && "auth" in value && "samples" in value;
}
