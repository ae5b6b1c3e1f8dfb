/** The block of settings of the plugin, in the host's configuration. */

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
