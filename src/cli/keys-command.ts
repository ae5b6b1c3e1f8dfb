/** `reveille keys`. */
import { join } from "node:path";
import { openDeliveredKeys, readDeliveredKeys } from "../auth/keys/delivered-keys.ts";
import { SENDER_KEYS_FILE } from "../auth/keys/delivered-keys.ts";
import { StoreError } from "../storage/delivery-store.ts";
import type { SenderKeys } from "../storage/shared-store.ts";
import { lockState } from "./backup/place.ts";
import { ConfigFile } from "./config-file.ts";
import { CliError } from "./errors.ts";
import { type CliIo, warningsOnly } from "./io.ts";
import { loadConfiguration } from "./load-configuration.ts";
import type { LocationOptions } from "./file-locations.ts";
import { ownerAt } from "./replace-file.ts";

export interface KeysOptions extends LocationOptions {
  readonly show?: string;
  readonly forget?: string;
  readonly json?: boolean;
}

/** Lists the routes whose sender has delivered a key; prints or forgets the key of one. */
export async function keys({ show, forget, json = false, ...options }: KeysOptions, io: CliIo): Promise<void> {
  const url = await sharedStoreOf(options, io);
  const { stateDir } = io.gateway.locate(options);
  const print = (document: object, text: string): void => {
    io.out(json ? `${JSON.stringify(document, undefined, 2)}\n` : text);
  };
  if (forget !== undefined) {
    if (url === undefined) await forgetKey(forget, { stateDir, url: (await io.gateway.access(options)).url }, io);
    else await forgetShared(forget, url);
    const later = "For an hour from its next start the gateway takes another one.";
    print({ route: forget, forgotten: true }, `The key of "${forget}" is forgotten. ${later}\n`);
    return;
  }
  const delivered = await (url === undefined
    ? readDeliveredKeys(join(stateDir, SENDER_KEYS_FILE))
    : inStore(url, (kept) => kept.read()));
  if (show !== undefined) {
    const key = delivered.get(show);
    if (key === undefined) throw new CliError(`No key was delivered on the route "${show}".`);
    print({ route: show, key }, `${key}\n`);
    return;
  }
  const routes = [...delivered.keys()];
  const text = routes.length === 0 ? "No sender has delivered a key.\n" : routes.map((route) => `${route}\n`).join("");
  print({ routes }, text);
}

/** The database of several gateways, which have their keys there; `undefined` without one. */
async function sharedStoreOf(options: LocationOptions, io: CliIo): Promise<string | undefined> {
  const { gateway } = io;
  if (gateway.program !== "reveille" || !gateway.isConfigured(options)) return undefined;
  const written = ConfigFile.read(gateway.locate(options).configFile).get(["hooks", "store", "several"]);
  if (written !== true) return undefined;
  const logger = warningsOnly(await io.createLogger());
  const { signal } = new AbortController();
  return (await loadConfiguration(options, { gateway, logger, signal })).active.config.store?.url;
}

async function inStore<Result>(url: string, use: (keys: SenderKeys) => Promise<Result>): Promise<Result> {
  const { withSenderKeys } = await import("../storage/postgres/sender-keys.ts");
  return withSenderKeys(url, use).catch((error: unknown) => {
    throw error instanceof StoreError ? new CliError(error.message, { cause: error }) : error;
  });
}

/** The gateways take it up within a second. */
async function forgetShared(route: string, url: string): Promise<void> {
  const isKnown = await inStore(url, async (kept) => {
    const found = (await kept.read()).has(route);
    if (found) await kept.remove(route);
    return found;
  });
  if (!isKnown) throw new CliError(`No key was delivered on the route "${route}".`);
}

/** A running gateway has the keys in memory and would write them back. */
async function forgetKey(
  route: string,
  { stateDir, url }: { readonly stateDir: string; readonly url: string },
  io: CliIo,
): Promise<void> {
  if (await isRunning(url)) throw new CliError(`A gateway runs under ${url}; stop it first, then forget the key.`);
  // It may have been started with another port than the configuration's.
  const lock = lockState(stateDir, ownerAt(stateDir));
  try {
    const opened = await openDeliveredKeys({
      file: join(stateDir, SENDER_KEYS_FILE),
      clock: { now: () => Date.now() },
      logger: await io.createLogger(),
    });
    if (!(await opened.forget(route))) throw new CliError(`No key was delivered on the route "${route}".`);
  } finally {
    lock?.release();
  }
}

async function isRunning(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}
