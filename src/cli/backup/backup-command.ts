/** `reveille backup`. */
import { createReadStream, existsSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DATABASE_FILE } from "../../hosts/shared/open-store.ts";
import packageJson from "../../../package.json" with { type: "json" };
import { untilSignal } from "../end-signals.ts";
import { CliError } from "../errors.ts";
import { isThere, type LocationOptions } from "../file-locations.ts";
import type { CliIo } from "../io.ts";
import { ProgressBar } from "../progress-bar.ts";
import { type ArchiveEntry, sha256Of, writeArchive } from "./archive.ts";
import { collectFiles } from "./collect.ts";
import { copyDatabase, verifyDatabase } from "./database.ts";
import { MANIFEST, type Manifest, newManifest } from "./manifest.ts";

export interface BackupOptions extends LocationOptions {
  readonly withSecrets?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

/**
 * Writes one file with the database as it is now, the configuration and its modules, while the gateway runs or does
 * not. The file is there whole or not at all.
 */
export function backUp(given: string, options: BackupOptions, io: CliIo): Promise<number> {
  return untilSignal(io, async (signal) => {
    const locations = io.gateway.locate(options);
    const file = resolve(given);
    if (existsSync(file) && options.force !== true) {
      throw new CliError(`${file} exists; choose another name, or replace it with --force.`);
    }
    if (!existsSync(dirname(file))) throw new CliError(`There is no folder ${dirname(file)}.`);
    const database = join(locations.stateDir, DATABASE_FILE);
    if (!isThere(database)) {
      throw new CliError(`There is no ${database}: no gateway has run there. Name its folder with --state-dir.`);
    }
    const { files, leftOut, isOnPostgres } = collectFiles(locations, options.withSecrets === true);
    const folder = mkdtempSync(join(dirname(file), ".reveille-backup-"));
    const bar = new ProgressBar(io, options.json === true);
    try {
      const copy = join(folder, DATABASE_FILE);
      await copyDatabase(database, copy, (done, total) => {
        signal.throwIfAborted();
        bar.show({ done, total, what: "pages of the database" });
      });
      verifyDatabase(copy);
      signal.throwIfAborted();
      const stored: ArchiveEntry[] = [
        { name: `state/${DATABASE_FILE}`, bytes: statSync(copy).size, content: { file: copy } },
        ...files.map(({ name, content }) => ({ name, bytes: content.length, content })),
      ];
      const manifest = newManifest({
        program: packageJson.version,
        at: new Date().toISOString(),
        hasSecrets: options.withSecrets === true,
        isOnPostgres,
        leftOut,
        files: await Promise.all(
          stored.map(async ({ name, bytes, content }) => {
            const sha256 = await sha256Of("file" in content ? createReadStream(content.file) : content);
            return { name, bytes, sha256 };
          }),
        ),
      });
      await writeWhole(file, manifest, { stored, folder, signal, bar });
      report(file, manifest, options, io);
    } finally {
      bar.end();
      rmSync(folder, { recursive: true, force: true });
    }
    return 0;
  });
}

interface Writing {
  readonly stored: readonly ArchiveEntry[];
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly bar: ProgressBar;
}

async function writeWhole(file: string, manifest: Manifest, { stored, folder, signal, bar }: Writing): Promise<void> {
  const text = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`);
  const total = stored.reduce((sum, { bytes }) => sum + bytes, text.length);
  let done = 0;
  const draft = join(folder, "backup");
  await writeArchive(draft, [{ name: MANIFEST, bytes: text.length, content: text }, ...stored], (count) => {
    signal.throwIfAborted();
    done += count;
    bar.show({ done, total, what: "bytes are packed" });
  });
  renameSync(draft, file);
  // The new name is durable only once the folder is.
  const handle = await open(dirname(file), "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function report(file: string, manifest: Manifest, { json }: BackupOptions, io: CliIo): void {
  const bytes = statSync(file).size;
  if (json === true) {
    const { at, hasSecrets, isOnPostgres, leftOut, files } = manifest;
    io.out(`${JSON.stringify({ file, bytes, at, hasSecrets, isOnPostgres, leftOut, files }, undefined, 2)}\n`);
    return;
  }
  io.out(`${file} holds ${manifest.files.length} files in ${bytes} bytes. Try it: reveille restore --verify ${file}\n`);
  if (manifest.leftOut.length > 0) {
    io.out("Without these secrets, which --with-secrets adds where it can:\n");
    for (const { path, from } of manifest.leftOut) io.out(`  ${path} (${from})\n`);
  }
  if (isLackingKey(manifest)) io.out("Without the key of the gateway, by which it knows what its runs have written.\n");
  if (manifest.isOnPostgres) {
    io.err(
      "Deliveries, sessions and the outbox are in PostgreSQL and not in this file: back them up with pg_dump at the same time.\n",
    );
  }
}

function isLackingKey({ files }: Manifest): boolean {
  return !files.some(({ name }) => name === "state/gateway.key");
}
