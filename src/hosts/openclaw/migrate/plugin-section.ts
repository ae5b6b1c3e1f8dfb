/** The section below `plugins` that adopting writes. */
import type { MigrationNotes } from "./notes.ts";
import { fieldsAt } from "../fields.ts";
import type { Fields } from "../fields.ts";

/** The id under which OpenClaw knows us. */
export const PLUGIN_ID = "reveille";

/** Why OpenClaw would not load the plugin, whatever its entry says; `undefined` when nothing keeps it off. */
export function pluginProblem(config: Fields): string | undefined {
  const plugins = fieldsAt(config, "plugins");
  if (plugins["enabled"] === false) {
    return "plugins.enabled is false: OpenClaw loads no plugin, so calls would get no answer. Set it to true, then adopt again.";
  }
  if (listOf(plugins["deny"])?.some((id) => idOf(id) === PLUGIN_ID)) {
    return `plugins.deny names ${PLUGIN_ID}, so calls would get no answer. Take it off the list, then adopt again.`;
  }
  return undefined;
}

/** The section with our entry in it; all else of it stays. */
export function pluginSection(
  config: Fields,
  { block, subagent }: { readonly block: object; readonly subagent: Fields | undefined },
  notes: MigrationNotes,
): Fields {
  const plugins = fieldsAt(config, "plugins");
  const entries = fieldsAt(plugins, "entries");
  const entry = fieldsAt(entries, PLUGIN_ID);
  const allow = listOf(plugins["allow"]);
  const where = `plugins.entries.${PLUGIN_ID}`;
  if (entry["enabled"] === false) notes.add("written", "was false and is true now.", `${where}.enabled`);
  notes.add("written", "holds the block, as OpenClaw's built-in hooks had it.", `${where}.config`);
  const written = { ...entry, enabled: true, config: block, ...(subagent === undefined ? {} : { subagent }) };
  return {
    ...plugins,
    // An empty list is none to the host: with one name on it, all other plugins would be off.
    ...(allow === undefined || allow.length === 0 ? {} : { allow: allowed(allow, notes) }),
    entries: { ...entries, [PLUGIN_ID]: written },
  };
}

function allowed(allow: readonly unknown[], notes: MigrationNotes): readonly unknown[] {
  if (allow.some((id) => idOf(id) === PLUGIN_ID)) return allow;
  notes.add("written", `names ${PLUGIN_ID} as well: OpenClaw loads only what is on the list.`, "plugins.allow");
  return [...allow, PLUGIN_ID];
}

function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function idOf(value: unknown): string {
  return typeof value === "string" ? value.trim().toLowerCase() : "";
}
