/** The block of settings of the plugin, in the host's configuration. */
import { asPrefix, prefixProblem } from "../../config/hook-prefix.ts";
import { builtInPrefix } from "./read-config.ts";
import type { OpenClawConfig } from "./sdk.ts";

/** The prefix of the hooks unless the configuration names one: `/hooks` is that of the host's own. */
export const DEFAULT_PATH = "/reveille";

/** The key under which the host has the block. */
export function blockKey(pluginId: string): string {
  return `plugins.entries.${pluginId}.config`;
}

/**
 * The block as it is written, with the defaults of this host: its path, and its rule that `allowedAgentIds` governs
 * every call, also one that names no agent.
 */
export function withHostDefaults(written: unknown): unknown {
  if (typeof written !== "object" || written === null) return written;
  const rule = "allowedAgentIds" in written ? { requireAllowedAgent: true } : {};
  return { path: DEFAULT_PATH, ...rule, ...written };
}

/** The prefix of the hooks; `undefined` when they are off, or have none that could be one. */
export function hooksPath(block: unknown): string | undefined {
  const fields = typeof block === "object" && block !== null ? (block as { enabled?: unknown; path?: unknown }) : {};
  if (fields.enabled !== true || typeof fields.path !== "string") return undefined;
  const path = asPrefix(fields.path);
  return prefixProblem(path) === undefined ? path : undefined;
}

/**
 * Why the hooks of a block cannot be where it says, with what to do; `undefined` when they can. The host's own hooks
 * answer before any plugin does: below their prefix nothing of ours would be reached. Of the paths that the host keeps
 * for the plugin, one is the operator's API.
 */
export function pathConflict(block: unknown, config: OpenClawConfig, pluginId: string): string | undefined {
  const path = hooksPath(block);
  if (path === undefined) return undefined;
  const key = `${blockKey(pluginId)}.path`;
  const taken = builtInPrefix(config);
  if (taken !== undefined && overlaps(path, taken)) {
    return (
      `${key}: ${path} is taken by OpenClaw's built-in hooks at ${taken}; take them over with ` +
      "`openclaw reveille adopt`, or choose another path."
    );
  }
  const own = `/plugins/${pluginId}`;
  if (!overlaps(path, own)) return undefined;
  return `${key}: ${path} overlaps ${own}, where the operator's API is; choose another path.`;
}

/** True when one of two prefixes is the other or below it. */
function overlaps(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}
