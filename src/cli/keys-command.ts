/** `reveille keys`. */
import { join } from "node:path";
import { openDeliveredKeys, readDeliveredKeys } from "../auth/keys/delivered-keys.ts";
import { SENDER_KEYS_FILE } from "../auth/keys/delivered-keys.ts";
import { CliError } from "./errors.ts";
import type { CliIo } from "./io.ts";
import type { LocationOptions } from "./file-locations.ts";

export interface KeysOptions extends LocationOptions {
  readonly show?: string;
  readonly forget?: string;
  readonly json?: boolean;
}

/** Lists the routes whose sender has delivered a key; prints or forgets the key of one. */
export async function keys({ show, forget, json = false, ...options }: KeysOptions, io: CliIo): Promise<void> {
  const file = join(io.gateway.locate(options).stateDir, SENDER_KEYS_FILE);
  const print = (document: object, text: string): void => {
    io.out(json ? `${JSON.stringify(document, undefined, 2)}\n` : text);
  };
  if (forget !== undefined) {
    await forgetKey(forget, { file, url: (await io.gateway.access(options)).url }, io);
    const later = "For an hour from its next start the gateway takes another one.";
    print({ route: forget, forgotten: true }, `The key of "${forget}" is forgotten. ${later}\n`);
    return;
  }
  const delivered = await readDeliveredKeys(file);
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

/** A running gateway has the keys in memory and would write them back. */
async function forgetKey(route: string, { file, url }: { file: string; url: string }, io: CliIo): Promise<void> {
  if (await isRunning(url)) throw new CliError(`A gateway runs under ${url}; stop it first, then forget the key.`);
  const opened = await openDeliveredKeys({
    file,
    clock: { now: () => Date.now() },
    logger: await io.createLogger(),
  });
  if (!(await opened.forget(route))) throw new CliError(`No key was delivered on the route "${route}".`);
}

async function isRunning(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}
