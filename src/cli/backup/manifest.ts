/** What a backup says of itself, and where each of its files may go. */
import { isAbsolute, join, relative, sep } from "node:path";
import { CliError } from "../errors.ts";
import type { FileLocations } from "../file-locations.ts";

export const MANIFEST = "manifest.json";
const FORMAT = "reveille-backup";
const VERSION = 1;
const MAX_FILES = 20_000;

export interface ManifestFile {
  readonly name: string;
  readonly bytes: number;
  /** Hexadecimal digits. */
  readonly sha256: string;
}

/** A secret that was left out. */
export interface LeftOut {
  /** Its place in the configuration. */
  readonly path: string;
  /** The variable that the restored configuration takes it from, or the file that is missing. */
  readonly from: string;
}

export interface Manifest {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** The version of the program that made it. */
  readonly program: string;
  readonly at: string;
  readonly hasSecrets: boolean;
  /** True: deliveries, sessions and the outbox are in PostgreSQL, and not in the backup. */
  readonly isOnPostgres: boolean;
  readonly leftOut: readonly LeftOut[];
  readonly files: readonly ManifestFile[];
}

export function newManifest(facts: Omit<Manifest, "format" | "version">): Manifest {
  return { format: FORMAT, version: VERSION, ...facts };
}

/** Throws a {@link CliError}. */
export function readManifest(text: string): Manifest {
  let manifest: Partial<Manifest>;
  try {
    manifest = JSON.parse(text) as Partial<Manifest>;
  } catch {
    throw new CliError("The file is not a backup of Reveille: its manifest is not JSON.");
  }
  if (typeof manifest !== "object" || manifest === null || manifest.format !== FORMAT) {
    throw new CliError("The file is not a backup of Reveille.");
  }
  if (manifest.version !== VERSION) {
    throw new CliError("A newer version of Reveille made the backup; restore it with that version.");
  }
  const { files, leftOut = [], at, program } = manifest;
  const isWhole = Array.isArray(files) && files.length <= MAX_FILES && files.every(isFile);
  const isDescribed =
    Array.isArray(leftOut) && leftOut.every(isLeftOut) && typeof at === "string" && typeof program === "string";
  if (!isWhole || !isDescribed) throw new CliError("The manifest of the backup is damaged.");
  const names = new Set(files.map(({ name }) => name.toLowerCase()));
  if (names.size < files.length) throw new CliError("The manifest of the backup names a file twice.");
  return { ...(manifest as Manifest), leftOut };
}

function isFile(file: unknown): file is ManifestFile {
  if (typeof file !== "object" || file === null) return false;
  const { name, bytes, sha256 } = file as Partial<ManifestFile>;
  const hasSize = typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 0;
  return typeof name === "string" && hasSize && typeof sha256 === "string";
}

function isLeftOut(left: unknown): left is LeftOut {
  if (typeof left !== "object" || left === null) return false;
  const { path, from } = left as Partial<LeftOut>;
  return typeof path === "string" && typeof from === "string";
}

/** The name of the configuration file in a backup, whatever it is called on disk. */
export const CONFIG_NAME = "config/reveille.json5";
const CONFIG_PREFIX = "config/";
const STATE_NAME =
  /^state\/(reveille\.sqlite|gateway\.key|sender-(?:certificates|keys)\.json|subscriptions\/(?:events\/)?[\da-f]{24}\.json)$/u;
// eslint-disable-next-line no-control-regex -- these are what is looked for
const SAFE_SEGMENT = /^(?!\.{1,2}$)[^\u0000-\u001F\u007F/\\:]{1,255}$/u;

/** A place that a file of a backup is written to. */
export interface BackupTarget {
  readonly root: "state" | "config";
  /** Relative to that folder. */
  readonly path: string;
}

/**
 * Where a name leads: into the folder of the configuration or of the state, and never out of it. Throws a
 * {@link CliError} for any other name.
 */
export function targetOf(name: string, { configFile, stateDir }: FileLocations): BackupTarget {
  const state = STATE_NAME.exec(name)?.[1];
  if (state !== undefined) return { root: "state", path: state };
  const configDir = join(configFile, "..");
  const path = name === CONFIG_NAME ? relative(configDir, configFile) : name.slice(CONFIG_PREFIX.length);
  const isSafe = name.startsWith(CONFIG_PREFIX) && path.split("/").every((segment) => SAFE_SEGMENT.test(segment));
  const isOther = name === CONFIG_NAME || join(configDir, path) !== configFile;
  if (!isSafe || !isOther || isWithin(stateDir, join(configDir, path))) {
    throw new CliError(
      `The backup holds ${JSON.stringify(name)}, which a backup of Reveille does not hold; nothing was written.`,
    );
  }
  return { root: "config", path };
}

/** True for the folder itself and for what is below it. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
