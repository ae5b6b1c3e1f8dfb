import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import JSON5 from "json5";
import { migrateConfig } from "../../../../../src/hosts/openclaw/migrate/config.ts";
import type { MigrationResult } from "../../../../../src/hosts/openclaw/migrate/config.ts";
import type { NoteKind } from "../../../../../src/hosts/openclaw/migrate/notes.ts";
import type { Fields } from "../../../../../src/hosts/openclaw/fields.ts";

const FOLDER = resolve(import.meta.dirname, "../../../../fixtures/openclaw-hooks");
const CONFIG_DIR = "/home/ada/.openclaw";

/** Names of the recorded configurations, without their ending. */
export const SHAPES: readonly string[] = readdirSync(FOLDER).map((name) => name.replace(/\.json5$/, ""));

export function readShape(name: string): Fields {
  return JSON5.parse<Fields>(readFileSync(join(FOLDER, `${name}.json5`), "utf8"));
}

/** Adopts a configuration in a folder whose transforms are there. */
export function adopted(
  config: object,
  options: { env?: Record<string, string>; isolation?: "none" } = {},
): MigrationResult {
  const { env = { RECORDED_HOOK_TOKEN: "recorded-hook-token-of-a-variable" }, isolation } = options;
  const transforms = join(CONFIG_DIR, "hooks/transforms");
  const exists = (file: string): boolean =>
    [join(transforms, "shape.mjs"), join(transforms, "mine/shape.mjs")].includes(file);
  return migrateConfig(config as Fields, {
    configDir: CONFIG_DIR,
    env,
    exists,
    ...(isolation === undefined ? {} : { isolation }),
  });
}

/** The notes of one kind, as lines. */
export function told(adoption: MigrationResult, kind: NoteKind): readonly string[] {
  if (adoption.outcome !== "adopted") return [];
  const notes = adoption.notes.filter((note) => note.kind === kind);
  return notes.map(({ path, text }) => (path === undefined ? text : `${path}: ${text}`));
}

/** Our block in an adopted configuration. */
export function blockOf(adoption: MigrationResult): Fields {
  if (adoption.outcome !== "adopted") throw new Error(JSON.stringify(adoption));
  const { entries } = adoption.config["plugins"] as { entries: { reveille: { config: Fields } } };
  return entries.reveille.config;
}
