/** `reveille openclaw adopt`. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual, parseEnv } from "node:util";
import JSON5 from "json5";
import { configLines, findConfigError } from "../../config/errors.ts";
import type { HooksConfig } from "../../config/hooks.ts";
import type { Logger } from "../../core/host.ts";
import { type Fields, fieldsAt, isFields } from "../../hosts/openclaw/fields.ts";
import {
  migrateConfig,
  type MigratedConfig,
  type MigrationResult,
  redactedBlocks,
} from "../../hosts/openclaw/migrate/config.ts";
import { mappingsIn, type SkippedMappings, skipMappings } from "../../hosts/openclaw/migrate/skip-mappings.ts";
import type { MigrationNote } from "../../hosts/openclaw/migrate/notes.ts";
import { loadTransforms } from "../../transform/load.ts";
import { CliError } from "../errors.ts";
import type { CliGateway } from "../gateway.ts";
import { type CliIo, warningsOnly } from "../io.ts";
import { findConfigFile, readConfigText, replaceConfigFile } from "./adopt-file.ts";
import { type AdoptReport, adoptText } from "./adopt-report.ts";

/** Strings, which may hold what looks like a comment, and comments. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|(\/\/|\/\*)/g;

/** True when a JSON5 text holds a comment. */
function hasComments(text: string): boolean {
  return [...text.matchAll(TOKEN)].some(([, comment]) => comment !== undefined);
}

export interface AdoptOptions {
  /** OpenClaw's configuration; where the host looks for it when absent. */
  readonly config?: string;
  /** Tell and write nothing. */
  readonly dryRun?: boolean;
  /** Tell as one JSON document. */
  readonly json?: boolean;
  /** The isolation of transforms; `process` when absent. */
  readonly transforms?: "process" | "none";
  /** Leave out mappings that cannot be adopted. */
  readonly skipBroken?: boolean;
}

/** The parts of its process that the command uses. */
export type AdoptIo = Pick<CliIo, "out" | "env" | "createLogger"> & {
  /** Absent: not the host. */
  readonly gateway?: Pick<CliGateway, "takesLocations">;
};

/** From here on the host takes a file of less than half its size for a broken one. */
const WATCHED_BYTES = 512;
const MAX_ENV_FILE_BYTES = 65_536;

/**
 * Moves OpenClaw's `hooks` block to Reveille: writes our block, turns the built-in hooks off and reports
 * what changes. Resolves with 0 when it is adopted or nothing is to do, with 1 when it is refused, and
 * then nothing was written. Rejects with a {@link CliError} when the file cannot be read or written.
 */
export async function adopt(options: AdoptOptions, io: AdoptIo): Promise<number> {
  const file = options.config === undefined ? findConfigFile(io.env) : resolve(options.config);
  const text = readConfigText(file);
  const report = await runAdoption({ file, text, dryRun: options.dryRun === true, options }, io);
  io.out(options.json === true ? `${JSON.stringify(report, null, 2)}\n` : adoptText(report));
  return report.outcome === "refused" ? 1 : 0;
}

interface AdoptTask {
  readonly file: string;
  readonly text: string;
  readonly dryRun: boolean;
  readonly options: AdoptOptions;
}

async function runAdoption({ file, text, dryRun, options }: AdoptTask, io: AdoptIo): Promise<AdoptReport> {
  const common = { file, dryRun };
  const configDir = dirname(file);
  const whole = parseConfigText(text, file);
  const { adoption, broken, inWhole } = await findAdoption(whole, { configDir, options, io });
  if (adoption.outcome === "nothing") {
    return { ...common, outcome: "nothing", reasons: [adoption.reason], notes: [] };
  }
  const refused = adoption.outcome === "refused" ? adoption.reasons : [];
  const isSkipping = options.skipBroken === true && adoption.outcome === "adopted";
  if (adoption.outcome === "refused" || (broken.length > 0 && !isSkipping)) {
    const hint = adoption.outcome === "adopted" ? [SKIP_BROKEN] : [];
    return { ...common, outcome: "refused", reasons: [...broken, ...refused, ...hint], notes: [] };
  }
  // The file keeps every mapping of the block that is off now.
  const config = { ...adoption.config, hooks: { ...fieldsAt(whole, "hooks"), enabled: false } };
  const after = `${JSON.stringify(config, null, 2)}\n`;
  const reasons = [
    ...refuseWriting(text, after, io.env),
    ...(isDeepStrictEqual(JSON.parse(after), config) ? [] : [UNWRITABLE]),
  ];
  if (reasons.length > 0) return { ...common, outcome: "refused", reasons, notes: [] };
  const backup = dryRun ? undefined : replaceConfigFile(file, { before: text, after });
  const notes = adoption.notes.map((note) => inWholeFile(note, inWhole));
  const skipped = broken.map((reason) => ({ kind: "lost" as const, text: `${reason} The mapping is left out.` }));
  return {
    ...common,
    outcome: "adopted",
    reasons: [],
    notes: [...skipped, ...notes, ...ownNotes(text, adoption, { configDir, io })],
    written: redactedBlocks(adoption),
    ...(backup === undefined ? {} : { backup }),
  };
}

/** Keys of the block of OpenClaw are those of the file, which keeps every mapping. */
function inWholeFile({ kind, path, text }: MigrationNote, inWhole: SkippedMappings["inWhole"]): MigrationNote {
  const whole = (words: string): string => (words.startsWith("hooks.") ? inWhole(words) : words);
  return { kind, ...(path === undefined ? {} : { path: whole(path) }), text: whole(text) };
}

interface FoundAdoption {
  /** Without the broken mappings. */
  readonly adoption: MigrationResult;
  /** The reasons against single mappings. */
  readonly broken: readonly string[];
  readonly inWhole: SkippedMappings["inWhole"];
}

/** Adopts without every mapping that has a reason against it, so that one run finds all reasons. */
async function findAdoption(
  whole: Fields,
  { configDir, options, io }: { configDir: string; options: AdoptOptions; io: AdoptIo },
): Promise<FoundAdoption> {
  const env = environmentOf(configDir, io.env);
  const isolation = options.transforms ?? "process";
  const skipped = new Set<number>();
  const broken: string[] = [];
  for (;;) {
    const { config, inWhole } = skipMappings(whole, skipped);
    const adoption = migrateConfig(config, { configDir, env, exists: existsSync, isolation });
    if (adoption.outcome === "nothing") return { adoption, broken, inWhole };
    const reasons =
      adoption.outcome === "refused"
        ? adoption.reasons
        : await tryTransforms(adoption.read, { configDir, logger: warningsOnly(await io.createLogger()) });
    const found = reasons.map(inWhole);
    const places = found.flatMap((reason) => mappingsIn(reason).slice(0, 1));
    if (places.length === 0) {
      return { adoption: reasons.length > 0 ? { outcome: "refused", reasons: found } : adoption, broken, inWhole };
    }
    broken.push(...found.filter((reason) => mappingsIn(reason).length > 0));
    for (const place of places) skipped.add(place);
  }
}

const SKIP_BROKEN = "To adopt the rest, leave these mappings out: adopt --skip-broken";

/** Throws a {@link CliError} for a text that is no configuration. */
export function parseConfigText(text: string, file: string): Fields {
  let value: unknown;
  try {
    value = JSON5.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /u, "") : String(error);
    throw new CliError(`${file} is not JSON5: ${reason}`, { cause: error });
  }
  if (isFields(value)) return value;
  throw new CliError(`${file} is not an object, so it is no configuration of OpenClaw.`);
}

/** The host reads `.env` beside its configuration; the process comes first. */
export function environmentOf(configDir: string, env: AdoptIo["env"]): AdoptIo["env"] {
  return { ...envFile(configDir), ...env };
}

function envFile(configDir: string): AdoptIo["env"] {
  try {
    const text = readFileSync(join(configDir, ".env"), "utf8");
    return text.length > MAX_ENV_FILE_BYTES ? {} : { ...parseEnv(text) };
  } catch {
    return {};
  }
}

/** The host's reason to refuse the new configuration. */
function refuseWriting(before: string, after: string, env: AdoptIo["env"]): readonly string[] {
  if (env["OPENCLAW_CONFIG_READONLY"] === "1" || env["OPENCLAW_NIX_MODE"] === "1") {
    return [
      "OPENCLAW_CONFIG_READONLY or OPENCLAW_NIX_MODE says that the configuration is generated elsewhere; run this with --dry-run on a copy, and write its result there.",
    ];
  }
  const bytes = Buffer.byteLength(before);
  if (bytes < WATCHED_BYTES || Buffer.byteLength(after) >= Math.floor(bytes / 2)) return [];
  return [
    "The file would lose more than half of its size with its comments, and OpenClaw takes such a file for a broken one. Remove the comments first, keeping a copy of them, then adopt again.",
  ];
}

function ownNotes(
  text: string,
  { resolved }: MigratedConfig,
  { configDir, io }: { readonly configDir: string; readonly io: AdoptIo },
): readonly MigrationNote[] {
  const notes: MigrationNote[] = [];
  if (hasComments(text)) {
    const note = "The comments of the file are gone in the new one; the copy before-reveille holds them.";
    notes.push({ kind: "lost", text: note });
  }
  // The command that a host itself runs comes from the plugin.
  const isHost = io.gateway?.takesLocations === false;
  const isInstalled = existsSync(join(configDir, "extensions", "reveille"));
  const { plugins } = resolved;
  const isLoaded = isFields(plugins) && isFields(plugins["load"]);
  if (!isHost && !isInstalled && !isLoaded) {
    notes.push({
      kind: "todo",
      text: 'If OpenClaw does not have the plugin Reveille yet, calls get no answer until it does: see "Install" in docs/operate/openclaw.md.',
    });
  }
  notes.push({ kind: "todo", text: RUNNING });
  return notes;
}

const UNWRITABLE =
  "The file holds a number that JSON cannot (NaN, Infinity or -0), and OpenClaw's files are written as JSON. Replace it, then adopt again.";

const RUNNING =
  'A gateway that runs takes this up by itself within seconds, and the built-in hooks answer until then. Its log says "Reveille answers at"; when it does not, restart the gateway.';

/**
 * Loads the transforms of a block as a gateway would at its start, and lets go of them again. Resolves
 * with the reasons why some cannot be loaded: the gateway would refuse the whole block for them.
 */
async function tryTransforms(
  config: HooksConfig,
  { configDir, logger }: { readonly configDir: string; readonly logger: Logger },
): Promise<readonly string[]> {
  if (config.mappings.every(({ transform }) => transform === undefined)) return [];
  const workDir = mkdtempSync(join(tmpdir(), "reveille-adopt-"));
  try {
    const transforms = await loadTransforms(config, { configDir, workDir, logger, previous: undefined });
    await transforms.close();
    return [];
  } catch (error) {
    const found = findConfigError(error);
    if (found === undefined) throw error;
    return configLines(found.issues);
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}
