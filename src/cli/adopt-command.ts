/** `reveille adopt`: the file of the embedded gateway from OpenClaw's. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ConfigError, configLines } from "../config/errors.ts";
import { readGatewayConfig } from "../hosts/embedded/config/read.ts";
import { snapshotOf } from "../hosts/embedded/config/snapshot.ts";
import { embeddedFile } from "../hosts/openclaw/migrate/embedded-file.ts";
import type { MigrationNote } from "../hosts/openclaw/migrate/notes.ts";
import { mappingsIn, skipMappings } from "../hosts/openclaw/migrate/skip-mappings.ts";
import { WebhookIngress } from "../index.ts";
import { CliError } from "./errors.ts";
import type { LocationOptions } from "./file-locations.ts";
import type { CliIo } from "./io.ts";
import { environmentOf, parseConfigText } from "./openclaw/adopt-command.ts";
import { findConfigFile, readConfigText } from "./openclaw/adopt-file.ts";
import { noteSections } from "./openclaw/adopt-report.ts";
import { makeFolder, ownerAt, writeNew } from "./replace-file.ts";
import { printable } from "./terminal-text.ts";

export interface EmbeddedAdoptOptions extends Pick<LocationOptions, "config"> {
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly skipBroken?: boolean;
  readonly transforms?: "process" | "none";
}

/**
 * Writes the embedded gateway's configuration from OpenClaw's, which stays as it is. Resolves with 1, and writes
 * nothing, when the result would be refused; rejects with a {@link CliError} when a file is in the way or unreadable.
 */
export async function adoptIntoEmbedded(
  written: string | undefined,
  options: EmbeddedAdoptOptions,
  io: Pick<CliIo, "out" | "env" | "gateway">,
): Promise<number> {
  const source = written === undefined ? findConfigFile(io.env) : resolve(written);
  const { configFile: target } = io.gateway.locate(options);
  if (options.dryRun !== true && existsSync(target)) {
    throw new CliError(`${target} exists already; name another file with --config <file>.`);
  }
  const whole = parseConfigText(readConfigText(source), source);
  const configDir = dirname(source);
  const env = environmentOf(configDir, io.env);
  const skipped = new Set<number>();
  const broken: string[] = [];
  for (;;) {
    const { config, inWhole } = skipMappings(whole, skipped);
    const made = embeddedFile(config, {
      configDir,
      env,
      exists: existsSync,
      isolation: options.transforms ?? "process",
    });
    const text = made.outcome === "adopted" ? `${JSON.stringify(made.file, null, 2)}\n` : "";
    const reasons = (made.outcome === "refused" ? made.reasons : refusalsOf(text, { ...env, ...made.values })).map(
      inWhole,
    );
    const places = reasons.flatMap((reason) => mappingsIn(reason).slice(0, 1));
    if (places.length > 0) {
      broken.push(...reasons.filter((reason) => mappingsIn(reason).length > 0));
      for (const place of places) skipped.add(place);
      continue;
    }
    if (made.outcome === "refused" || reasons.length > 0 || (broken.length > 0 && options.skipBroken !== true)) {
      const hint = broken.length > 0 && reasons.length === 0 ? ["To adopt the rest, add --skip-broken."] : [];
      if (options.json === true) report(io, { source, written: null, problems: [...broken, ...reasons], notes: [] });
      else printLines(io, `${source}: nothing was written.`, [...broken, ...reasons, ...hint]);
      return 1;
    }
    if (options.dryRun !== true) writeNewFile(target, text);
    const notes: MigrationNote[] = made.notes.map((note) => ({ ...note, text: inWhole(note.text) }));
    const left = broken.map((reason) => ({ kind: "lost" as const, text: `${reason} The mapping is left out.` }));
    const head =
      options.dryRun === true ? `${target}: nothing was written.` : `${target}: written. ${source} is as it was.`;
    const written = options.dryRun === true ? null : target;
    if (options.json === true) report(io, { source, written, problems: [], notes: [...left, ...notes] });
    else printLines(io, head, noteSections([...left, ...notes]), "");
    return 0;
  }
}

interface AdoptReport {
  readonly source: string;
  /** `null`: nothing was written. */
  readonly written: string | null;
  readonly problems: readonly string[];
  readonly notes: readonly MigrationNote[];
}

function report(io: Pick<CliIo, "out">, adopted: AdoptReport): void {
  io.out(`${JSON.stringify(adopted, undefined, 2)}\n`);
}

function printLines(io: Pick<CliIo, "out">, head: string, lines: readonly string[], mark = "  - "): void {
  io.out([head, ...lines.map((line) => mark + line)].map((line) => `${printable(line)}\n`).join(""));
}

function writeNewFile(file: string, text: string): void {
  makeFolder(dirname(file), ownerAt(dirname(file)));
  writeNew(file, text, { mode: 0o600, ...ownerAt(dirname(file)) });
}

/** The reasons for which a gateway would refuse the text. */
function refusalsOf(text: string, env: CliIo["env"]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "reveille-adopt-"));
  try {
    const file = join(folder, "reveille.json5");
    writeFileSync(file, text, { mode: 0o600 });
    const { config } = readGatewayConfig({ file, env });
    const { gateway, agents, channels } = snapshotOf(config, { reason: "start", publicUrl: undefined });
    const refused = WebhookIngress.check(config.hooks, { configDir: folder, gateway, agents, channels, env });
    return refused === undefined ? [] : configLines(refused.issues);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return configLines(error.issues);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
