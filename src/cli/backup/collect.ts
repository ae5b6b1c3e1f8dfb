/** The files that a backup holds besides the database. */
import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { SENDER_KEYS_FILE } from "../../auth/keys/delivered-keys.ts";
import { SubscriptionRecords } from "../../hosts/embedded/subscriptions/records.ts";
import { ConfigFile } from "../config-file.ts";
import { CliError } from "../errors.ts";
import type { FileLocations } from "../file-locations.ts";
import { hideSecrets } from "./hide-secrets.ts";
import { CONFIG_NAME, isWithin, type LeftOut } from "./manifest.ts";

export interface SmallFile {
  readonly name: string;
  readonly content: Uint8Array;
}

export interface Collected {
  readonly files: readonly SmallFile[];
  readonly leftOut: readonly LeftOut[];
  readonly isOnPostgres: boolean;
}

const MODULE_FOLDERS = ["hooks/transforms", "hooks/presets"] as const;
const MAX_FILES = 10_000;
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * The configuration, transforms, presets, and what is registered at senders; with `withSecrets` also the secrets in the
 * file, the files that it names for one, the keys that senders delivered, and the key of the gateway. Throws a
 * {@link CliError}.
 */
export function collectFiles({ configFile, stateDir }: FileLocations, withSecrets: boolean): Collected {
  const configDir = dirname(configFile);
  const config = ConfigFile.read(configFile);
  const written = config.get([]);
  const { text, leftOut } = withSecrets ? { text: config.text, leftOut: [] } : hideSecrets(config);
  const files = new SmallFiles();
  files.put(CONFIG_NAME, Buffer.from(text));
  for (const folder of MODULE_FOLDERS) {
    for (const path of filesIn(join(configDir, folder))) files.add(nameIn(configDir, path), path);
  }
  const missing: LeftOut[] = [];
  for (const { path, file } of secretFilesIn(written, configDir)) {
    const isInside = isWithin(realPath(configDir), realPath(file)) && !isWithin(stateDir, file);
    if (withSecrets && isInside && isFile(file)) files.add(nameIn(configDir, file), file);
    else missing.push({ path, from: file });
  }
  files.addIfThere("state/sender-certificates.json", join(stateDir, "sender-certificates.json"));
  files.addIfThere("config/registrations.json", join(configDir, "registrations.json"));
  const subscriptions = new SubscriptionRecords(stateDir);
  for (const record of subscriptions.all()) {
    const path = subscriptions.fileOf(record);
    files.addIfThere(stateName(stateDir, path), path);
    missing.push({ path: `the credentials of ${record.sender}`, from: record.credentials });
  }
  // A gateway of this version takes them into its state.
  const events = join(stateDir, "subscriptions", "events");
  for (const path of filesIn(events).filter((each) => each.endsWith(".json")))
    files.add(stateName(stateDir, path), path);
  const delivered = join(stateDir, SENDER_KEYS_FILE);
  if (withSecrets) {
    files.addIfThere("state/gateway.key", join(stateDir, "gateway.key"));
    files.addIfThere(`state/${SENDER_KEYS_FILE}`, delivered);
  } else if (isFile(delivered)) missing.push({ path: "the keys that senders delivered", from: delivered });
  return { files: files.all, leftOut: [...leftOut, ...missing], isOnPostgres: hasStore(written) };
}

class SmallFiles {
  readonly #files = new Map<string, Uint8Array>();
  #bytes = 0;

  get all(): readonly SmallFile[] {
    return [...this.#files].map(([name, content]) => ({ name, content }));
  }

  add(name: string, path: string): void {
    this.put(name, readFileSync(path));
  }

  addIfThere(name: string, path: string): void {
    if (isFile(path)) this.add(name, path);
  }

  put(name: string, content: Uint8Array): void {
    this.#files.set(name, content);
    this.#bytes += content.length;
    if (this.#files.size <= MAX_FILES && this.#bytes <= MAX_BYTES) return;
    throw new CliError(
      `The folders of transforms and presets hold more than ${MAX_FILES} files or 256 MiB, which is more than modules; move the rest elsewhere.`,
    );
  }
}

/** Regular files at any depth; a link is not followed, since what it leads to is not in these folders. */
function filesIn(folder: string): string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  // Node's own recursion follows links to folders.
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : [];
  });
}

function stateName(stateDir: string, path: string): string {
  return `state/${relative(stateDir, path).split(sep).join("/")}`;
}

function nameIn(configDir: string, path: string): string {
  return `config/${relative(configDir, path).split(sep).join("/")}`;
}

/** What `{ file }` names, wherever a secret may be written. */
function secretFilesIn(
  value: unknown,
  configDir: string,
  path = "",
): { readonly path: string; readonly file: string }[] {
  if (typeof value !== "object" || value === null) return [];
  const { file } = value as { readonly file?: unknown };
  const isReference = typeof file === "string" && Object.keys(value).length === 1;
  if (isReference) return [{ path, file: resolve(configDir, file) }];
  return Object.entries(value).flatMap(([key, part]) => {
    const step = Array.isArray(value) ? `[${key}]` : `${path === "" ? "" : "."}${key}`;
    return secretFilesIn(part, configDir, `${path}${step}`);
  });
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function hasStore(written: unknown): boolean {
  if (typeof written !== "object" || written === null || !("hooks" in written)) return false;
  const { hooks } = written;
  return typeof hooks === "object" && hooks !== null && "store" in hooks && hooks.store != null;
}
