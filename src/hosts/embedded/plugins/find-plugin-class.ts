import type { GatewayPlugin } from "../../../core/host.ts";
import { failureReason } from "../../../core/failure-reason.ts";
import { PluginError } from "./error.ts";

/** A plugin's class: the constructor validates and stores options. */
export type PluginClass = new (config: unknown) => GatewayPlugin;

/**
 * Finds the class among a module's exports: the default export, or the only one exported that has
 * `apply`; of CommonJS also the module itself. Throws a {@link PluginError} that names the file.
 */
export function findPluginClass(exported: unknown, file: string): PluginClass {
  try {
    return classIn(exported, file);
  } catch (error) {
    if (error instanceof PluginError) throw error;
    // A getter or a proxy among the exports.
    throw new PluginError(`${file}: what it exports cannot be read: ${failureReason(error)}`, { cause: error });
  }
}

function classIn(exported: unknown, file: string): PluginClass {
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
