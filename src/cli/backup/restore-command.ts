/** `reveille restore`. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { open, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { DATABASE_FILE } from "../../hosts/shared/open-store.ts";
import { untilSignal } from "../end-signals.ts";
import { CliError } from "../errors.ts";
import { configWords, type FileLocations, type LocationOptions } from "../file-locations.ts";
import type { CliIo } from "../io.ts";
import { ProgressBar } from "../progress-bar.ts";
import { makeFolder, type Owner, ownerAt } from "../replace-file.ts";
import { printable } from "../terminal-text.ts";
import { readArchive, type ReadEntry } from "./archive.ts";
import { verifyDatabase } from "./database.ts";
import { MANIFEST, type Manifest, readManifest, type BackupTarget, targetOf } from "./manifest.ts";
import { filledPlaces, lockState, putInPlace, type Staged } from "./place.ts";

export interface RestoreOptions extends LocationOptions {
  readonly verify?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;

/**
 * Puts the files of a backup where a gateway that does not run looks for them. All of them are read and proved first,
 * in folders beside those places: a file that is cut, changed or foreign changes nothing. Restored by root, they belong
 * to whom the places belong: the gateway may run as that user.
 */
export function restore(file: string, options: RestoreOptions, io: CliIo): Promise<number> {
  return untilSignal(io, async (signal) => {
    const locations = io.gateway.locate(options);
    if (!existsSync(file)) throw new CliError(`There is no file ${file}.`);
    const isTrial = options.verify === true;
    const owners = { state: ownerAt(locations.stateDir), config: ownerAt(locations.configFile) };
    const lock = isTrial ? undefined : lockState(locations.stateDir, owners.state);
    const bar = new ProgressBar(io, options.json === true);
    const made: string[] = [];
    const stage = (root: string, owner: Owner): string => {
      if (!isTrial) makeFolder(root, owner);
      made.push(mkdtempSync(join(isTrial ? tmpdir() : root, ".reveille-restore-")));
      return made.at(-1)!;
    };
    try {
      if (!isTrial && options.force !== true) refuseFilled(locations);
      const folders = {
        state: stage(locations.stateDir, owners.state),
        config: stage(dirname(locations.configFile), owners.config),
      };
      const staged = await readAll(file, { folders, owners, locations, signal, bar });
      verifyDatabase(join(folders.state, DATABASE_FILE));
      signal.throwIfAborted();
      const aside = isTrial ? [] : putInPlace(staged, locations);
      report(staged.manifest, aside, { ...options, ...locations }, io);
    } finally {
      bar.end();
      lock?.release();
      for (const folder of made) rmSync(folder, { recursive: true, force: true });
    }
    return 0;
  });
}

function refuseFilled(locations: FileLocations): void {
  const [first] = filledPlaces(locations);
  if (first === undefined) return;
  throw new CliError(`${first} is there already; --force moves it aside, where it stays, or name another folder.`);
}

interface Reading {
  readonly folders: Staged["folders"];
  readonly owners: Staged["owners"];
  readonly locations: FileLocations;
  readonly signal: AbortSignal;
  readonly bar: ProgressBar;
}

async function readAll(file: string, { folders, owners, locations, signal, bar }: Reading): Promise<Staged> {
  const targets: BackupTarget[] = [];
  let manifest: Manifest | undefined;
  let done = 0;
  for await (const entry of readArchive(file)) {
    signal.throwIfAborted();
    if (manifest === undefined) {
      manifest = await readFirst(entry);
      await refuseWithoutSpace(manifest, folders.state);
      continue;
    }
    const expected = manifest.files[targets.length];
    if (expected?.name !== entry.name || expected.bytes !== entry.bytes) {
      throw new CliError(`The backup holds ${JSON.stringify(entry.name)} otherwise than its manifest says.`);
    }
    const target = targetOf(entry.name, locations);
    const path = join(folders[target.root], target.path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if ((await writeEntry(entry, path, owners[target.root])) !== expected.sha256) {
      throw new CliError(`${entry.name} in the backup is damaged: its checksum is another one.`);
    }
    targets.push(target);
    done += entry.bytes;
    bar.show({ done, total: bytesOf(manifest), what: "bytes are read" });
  }
  if (manifest === undefined || targets.length < manifest.files.length) {
    throw new CliError("The backup lacks files that its manifest names.");
  }
  if (!targets.some(({ root, path }) => root === "state" && path === DATABASE_FILE)) {
    throw new CliError("The backup holds no database.");
  }
  return { manifest, folders, owners, targets };
}

async function readFirst(entry: ReadEntry): Promise<Manifest> {
  if (entry.name !== MANIFEST || entry.bytes > MAX_MANIFEST_BYTES) {
    throw new CliError("The file is not a backup of Reveille.");
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry.content) chunks.push(chunk);
  return readManifest(Buffer.concat(chunks).toString("utf8"));
}

/** The manifest of a hostile file may promise more than there is room for. */
async function refuseWithoutSpace(manifest: Manifest, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const needed = bytesOf(manifest);
  if (needed > bavail * bsize) throw new CliError(`The backup needs ${needed} bytes, and there is no room for them.`);
}

function bytesOf({ files }: Manifest): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Writes a file that was not there, for this owner; resolves with its checksum. */
async function writeEntry({ content }: ReadEntry, path: string, { uid, gid, mode = 0o600 }: Owner): Promise<string> {
  const hash = createHash("sha256");
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const handle = await open(path, "wx", 0o600);
  // By the handle: the owner of the folder can put a link to another file at the path meanwhile.
  if (process.getuid?.() === 0) await handle.chown(uid, gid);
  await handle.chmod(mode);
  await pipeline(hashed, handle.createWriteStream({ flush: true }));
  return hash.digest("hex");
}

function report(
  manifest: Manifest,
  aside: readonly string[],
  { json, verify, config, configFile, stateDir }: RestoreOptions & FileLocations,
  io: CliIo,
): void {
  const { at, program, hasSecrets, isOnPostgres, leftOut, files } = manifest;
  if (json === true) {
    const facts = { verified: true, restored: verify !== true, at, program, hasSecrets, isOnPostgres, leftOut, aside };
    io.out(`${JSON.stringify({ ...facts, files: files.map(({ name }) => name) }, undefined, 2)}\n`);
    return;
  }
  io.out(`The backup of ${printable(at)} is whole: ${files.length} files, checksums, database and tables.\n`);
  if (verify === true) return;
  io.out(`It was restored to ${configFile} and ${stateDir}.\n`);
  for (const path of aside) io.out(`What was there is in ${path}.\n`);
  if (leftOut.length > 0) {
    io.out("These secrets are not in the backup. Set the variables or make the files before you start the gateway:\n");
    for (const { path, from } of leftOut) io.out(`  ${printable(path)} (${printable(from)})\n`);
  }
  if (isOnPostgres)
    io.err("Deliveries, sessions and the outbox are in PostgreSQL: restore them from your pg_dump of the same time.\n");
  io.out(`Check it with: ${io.gateway.program} check${configWords({ config })}\n`);
}
