/** The block of settings of the plugin, in the host's configuration. */
import { asPrefix, prefixProblem } from "../../config/hook-prefix.ts";

/** Where the hooks are unless the configuration says so: `/hooks` is the prefix of the host's own. */
export const DEFAULT_PATH = "/reveille";

/** The key under which the host has the block. */
export function blockKey(pluginId: string): string {
  return `plugins.entries.${pluginId}.config`;
}

/** The block as it is written, with the path of this host where it names none. */
export function withDefaultPath(written: unknown): unknown {
  if (typeof written !== "object" || written === null || "path" in written) return written;
  return { path: DEFAULT_PATH, ...written };
}

/** The prefix of the hooks; `undefined` when they are off, or have none that could be one. */
export function hooksPath(block: unknown): string | undefined {
  const fields = typeof block === "object" && block !== null ? (block as { enabled?: unknown; path?: unknown }) : {};
  if (fields.enabled !== true || typeof fields.path !== "string") return undefined;
  const path = asPrefix(fields.path);
  return prefixProblem(path) === undefined ? path : undefined;
}
