/** Imports a plugin's module and finds its class. */
import { createJiti } from "jiti";
import type { GatewayPlugin } from "../../host.ts";
import { PluginError } from "./plugin-manifest.ts";

/** A plugin's class: the constructor validates and stores options. */
export type PluginClass = new (config: unknown) => GatewayPlugin;

/** The name under which a plugin imports this package, and then gets the gateway's own copy of it. */
const packageName = "reveille";

/**
 * Imports the module, TypeScript included, and returns its plugin class: the default export, or
 * the only exported class that has `apply`. `publicApi` is what it gets for this package's name.
 */
export async function importPluginClass(entry: string, publicApi: object): Promise<PluginClass> {
  const jiti = createJiti(entry, {
    fsCache: false,
    moduleCache: true,
    tryNative: false,
    interopDefault: false,
    jsx: false,
    debug: false,
    sourceMaps: false,
    tsconfigPaths: false,
    virtualModules: { [packageName]: publicApi },
  });
  let exported: unknown;
  try {
    exported = await jiti.import(entry);
  } catch (error) {
    throw new PluginError(`${entry} cannot be loaded: ${reasonOf(error)}`, { cause: error });
  }
  return findPluginClass(exported, entry);
}

function findPluginClass(exported: unknown, entry: string): PluginClass {
  const exports = typeof exported === "object" && exported !== null ? Object.entries(exported) : [];
  const preferred = exports.find(([name]) => name === "default")?.[1] as unknown;
  if (isPluginClass(preferred)) return preferred;
  const classes = new Set(exports.map(([, value]) => value as unknown).filter(isPluginClass));
  const [only, ...others] = classes;
  if (only === undefined) {
    throw new PluginError(`${entry} exports no class with an apply method; export one by default`);
  }
  if (others.length > 0) {
    throw new PluginError(`${entry} exports several classes with an apply method; export one by default`);
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

/** The reason of a failure of someone else's code, in one line. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0] ?? "";
}
