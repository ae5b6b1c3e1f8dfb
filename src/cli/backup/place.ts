/** Where restored files go, and what was there before them. */
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { DATABASE_FILE, holdState, MARK_FILE } from "../../hosts/shared/open-store.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import { CliError } from "../errors.ts";
import type { FileLocations } from "../file-locations.ts";
import { giveFromRoot, makeFolder, type Owner } from "../replace-file.ts";
import type { Manifest, BackupTarget } from "./manifest.ts";

/** Files that were read and proved, and wait in folders beside the places that they go to. */
export interface Staged {
  readonly manifest: Manifest;
  readonly folders: Readonly<Record<BackupTarget["root"], string>>;
  /** Who is to have what comes there. */
  readonly owners: Readonly<Record<BackupTarget["root"], Owner>>;
  readonly targets: readonly BackupTarget[];
}

const MODULE_FOLDERS = [join("hooks", "transforms"), join("hooks", "presets")];
const LOCK_FILE = `${DATABASE_FILE}.lock`;
const STATE_FILE = /^(?:reveille\.sqlite.*|gateway\.key|sender-(?:certificates|keys)\.json)$/u;

/** To be held until the end, so that no gateway starts meanwhile. Throws a {@link CliError} while one runs. */
export function lockState(stateDir: string, owner: Owner): ReturnType<typeof holdState> {
  const file = join(stateDir, LOCK_FILE);
  const isThere = existsSync(file);
  try {
    const lock = holdState(stateDir);
    if (lock !== undefined && !isThere) giveFromRoot([file], owner);
    return lock;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new CliError(`A gateway runs on ${stateDir}; stop it first.`, { cause: error });
  }
}

/** The places that are not empty. */
export function filledPlaces({ configFile, stateDir }: FileLocations): readonly string[] {
  const configDir = dirname(configFile);
  const folders = MODULE_FOLDERS.map((folder) => join(configDir, folder));
  const modules = folders.filter((folder) => existsSync(folder) && readdirSync(folder).length > 0);
  const state = stateFiles(stateDir).map((name) => join(stateDir, name));
  return [...state, ...modules, ...[configFile].filter((file) => existsSync(file))];
}

/** The files of the state that a backup has, or that belong to its database; what agents have made there stays. */
function stateFiles(stateDir: string): readonly string[] {
  if (!existsSync(stateDir)) return [];
  return readdirSync(stateDir).filter((name) => name !== LOCK_FILE && STATE_FILE.test(name));
}

/**
 * Moves what is there aside and the files of the backup to their places. Killed in between, it leaves the old database
 * beside its mark, or the new one beside the mark of the old, with which no gateway starts, or the new one alone.
 * Returns the folders that hold what was moved aside.
 */
export function putInPlace(
  { folders, targets, owners }: Staged,
  { configFile, stateDir }: FileLocations,
): readonly string[] {
  const configDir = dirname(configFile);
  const name = `before-${new Date().toISOString().replaceAll(/[:.]/gu, "-")}`;
  const aside = { config: join(configDir, name), state: join(stateDir, name) };
  const config = targets.filter(({ root }) => root === "config").map(({ path }) => path);
  for (const path of [...MODULE_FOLDERS, ...config])
    moveIfThere(configDir, path, { to: aside.config, owner: owners.config });
  for (const path of config) move(folders.config, path, { to: configDir, owner: owners.config });
  const state = targets.filter(({ root }) => root === "state").map(({ path }) => path);
  const toAside = { to: aside.state, owner: owners.state };
  // A key that the backup lacks stays.
  const old = stateFiles(stateDir).filter((path) => path.startsWith(DATABASE_FILE) || state.includes(path));
  for (const path of old) if (path !== MARK_FILE) move(stateDir, path, toAside);
  for (const path of state.filter((each) => each.includes("/"))) moveIfThere(stateDir, path, toAside);
  for (const path of state.toSorted((one) => (one === DATABASE_FILE ? 1 : -1))) {
    move(folders.state, path, { to: stateDir, owner: owners.state });
  }
  for (const folder of [configDir, stateDir]) syncFolder(folder);
  moveIfThere(stateDir, MARK_FILE, toAside);
  return [...new Set([aside.config, aside.state])].filter((folder) => existsSync(folder));
}

/** Where something is moved to, and who has the folders that are made for it. */
interface Destination {
  readonly to: string;
  readonly owner: Owner;
}

function moveIfThere(from: string, path: string, destination: Destination): void {
  if (existsSync(join(from, path))) move(from, path, destination);
}

function move(from: string, path: string, { to, owner }: Destination): void {
  makeFolder(dirname(join(to, path)), owner);
  renameSync(join(from, path), join(to, path));
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
