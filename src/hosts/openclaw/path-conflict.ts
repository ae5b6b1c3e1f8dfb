import type { OpenClawConfig } from "./sdk.ts";
import { blockKey, hooksPath } from "./plugin-block.ts";
import { builtInPrefix } from "./read-openclaw-config.ts";

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

/** Whether one of two prefixes is the other or below it. */
function overlaps(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}
