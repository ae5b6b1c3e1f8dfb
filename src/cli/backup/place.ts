/** Where restored files go, and what was there before them. */
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DATABASE_FILE, MARK_FILE } from "../../hosts/shared/open-store.ts";
import type { FileLocations } from "../file-locations.ts";
import { giveFromRoot, makeFolder, type Owner } from "../replace-file.ts";
import type { Manifest, BackupTarget } from "./manifest.ts";

/** Files that were read and proved, and wait in folders beside the places that they go to. */
export interface Staged {
  readonly manifest: Manifest;
  readonly folders: Readonly<Record<BackupTarget["root"], string>>;
  readonly targets: readonly BackupTarget[];
  readonly owners: Owners;
}

/** Who is to own what is restored to the folders of the configuration and the state. */
export type Owners = Readonly<Record<BackupTarget["root"], Owner>>;

/** The owner of what is there, or of the folder around it: the gateway reads the files, and root may restore them. */
export function ownersOf({ configFile, stateDir }: FileLocations): Owners {
  return { config: nearestOwner(configFile), state: nearestOwner(join(stateDir, DATABASE_FILE)) };
}

function nearestOwner(path: string): Owner {
  return statSync(path, { throwIfNoEntry: false }) ?? nearestOwner(dirname(path));
}

const MODULE_FOLDERS = [join("hooks", "transforms"), join("hooks", "presets")];
export const LOCK_FILE = `${DATABASE_FILE}.lock`;
const STATE_FILE = /^(?:reveille\.sqlite.*|gateway\.key|sender-certificates\.json)$/u;

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
  for (const { root, path } of targets) giveFromRoot([join(folders[root], path)], owners[root]);
  const config = targets.filter(({ root }) => root === "config").map(({ path }) => path);
  for (const path of [...MODULE_FOLDERS, ...config]) moveIfThere(configDir, path, aside.config, owners.config);
  for (const path of config) move(folders.config, path, configDir, owners.config);
  const state = targets.filter(({ root }) => root === "state").map(({ path }) => path);
  // A key that the backup lacks stays.
  const old = stateFiles(stateDir).filter((path) => path.startsWith(DATABASE_FILE) || state.includes(path));
  for (const path of old) if (path !== MARK_FILE) move(stateDir, path, aside.state, owners.state);
  for (const path of state.filter((each) => each.includes("/"))) moveIfThere(stateDir, path, aside.state, owners.state);
  for (const path of state.toSorted((one) => (one === DATABASE_FILE ? 1 : -1)))
    move(folders.state, path, stateDir, owners.state);
  for (const folder of [configDir, stateDir]) syncFolder(folder);
  moveIfThere(stateDir, MARK_FILE, aside.state, owners.state);
  return [...new Set([aside.config, aside.state])].filter((folder) => existsSync(folder));
}

function moveIfThere(from: string, path: string, to: string, owner: Owner): void {
  if (existsSync(join(from, path))) move(from, path, to, owner);
}

function move(from: string, path: string, to: string, owner: Owner): void {
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
