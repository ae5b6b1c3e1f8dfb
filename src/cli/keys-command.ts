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
}

/** Lists the routes whose sender has delivered a key; prints or forgets the key of one. */
export async function keys({ show, forget, ...options }: KeysOptions, io: CliIo): Promise<void> {
  const file = join(io.gateway.locate(options).stateDir, SENDER_KEYS_FILE);
  if (forget !== undefined) return forgetKey(forget, { file, url: (await io.gateway.access(options)).url }, io);
  const delivered = await readDeliveredKeys(file);
  if (show !== undefined) {
    const key = delivered.get(show);
    if (key === undefined) throw new CliError(`No key was delivered on the route "${show}".`);
    io.out(`${key}\n`);
    return;
  }
  if (delivered.size === 0) io.out("No sender has delivered a key.\n");
  for (const route of delivered.keys()) io.out(`${route}\n`);
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
  io.out(`The key of "${route}" is forgotten. For an hour from its next start the gateway takes another one.\n`);
}

async function isRunning(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}
