import { open } from "node:fs/promises";
import type { Clock, Logger } from "../../core/host.ts";
import type { SenderKeys } from "../../storage/shared-store.ts";
import type { DeliveredKeys } from "../verifier.ts";
import { readBoundedFile, writePrivateFile } from "./private-file.ts";

/** Name of the file in the state directory that holds the keys which senders deliver. */
export const SENDER_KEYS_FILE = "sender-keys.json";

export interface DeliveredKeysOptions {
  /** In the state directory; need not exist yet. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time after opening in which keys are accepted. Absent: an hour. */
  readonly windowMs?: number;
}

/** The keys as the gateway keeps them. */
export interface OpenDeliveredKeys extends DeliveredKeys {
  /** Drops the key of a route, durably, so that it can be delivered again; false when there is none. */
  forget(route: string): Promise<boolean>;
  /** Routes that have a key. */
  routes(): readonly string[];
  /**
   * From now on the keys are those that all gateways on a store have. Those of the file move there; a route that has
   * one there keeps that. Rejects with a `StoreError`, or when the file cannot be written.
   */
  share(keys: SenderKeys): Promise<void>;
  /** Takes up what other gateways have accepted or forgotten. Rejects with a `StoreError`. */
  refresh(): Promise<void>;
}

const WINDOW_MS = 3_600_000;
const MAX_ROUTES = 1_000;
const MAX_FILE_BYTES = 8_388_608;
const VERSION = 1;
const KEY = /^[\x21-\x7e]{8,1024}$/;
/** Read, write or search for anyone but the owner. */
const OTHERS = 0o077;

/**
 * Opens the keys that senders deliver in handshakes, which begins the window in which new ones are
 * accepted: the first of each route, of 8 to 1,024 visible ASCII characters, for at most 1,000 routes.
 * One process at a time, or with {@link OpenDeliveredKeys.share} several gateways. `accept` and `forget` reject when the file cannot be written, and nothing has
 * changed then. Rejects for a damaged file.
 */
export async function openDeliveredKeys(options: DeliveredKeysOptions): Promise<OpenDeliveredKeys> {
  const { file, clock, logger, windowMs = WINDOW_MS } = options;
  const keys = new Map(await readDeliveredKeys(file));
  await closeToOthers(file, logger);
  const openedAt = clock.now();
  const pending = new Set<string>();
  /** Refusals that were logged: as many as routes and reasons. */
  const reported = new Set<string>();
  let place: SenderKeys = fileOfKeys(file, keys);
  let last: Promise<unknown> = Promise.resolve();

  /** One change after another, each in memory only once it is durable. */
  function inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const changed = last.then(change);
    last = changed.catch(() => undefined);
    return changed;
  }

  async function readAgain(): Promise<void> {
    const found = await place.read();
    for (const route of keys.keys()) if (!found.has(route)) keys.delete(route);
    for (const [route, key] of found) keys.set(route, key);
  }

  /** False when another gateway has accepted one meanwhile. */
  async function add(route: string, key: string): Promise<boolean> {
    const isFirst = await place.add(route, key);
    if (isFirst) keys.set(route, key);
    else await readAgain();
    return isFirst;
  }

  function refusal(route: string, key: string): string | undefined {
    if (keys.has(route) || pending.has(route)) return "it has one already";
    if (clock.now() - openedAt >= windowMs) return "the time for it is over; restart the gateway to allow it again";
    if (!KEY.test(key)) return "it is not of 8 to 1024 visible characters";
    if (keys.size + pending.size >= MAX_ROUTES) return `there are ${MAX_ROUTES} keys already`;
    return undefined;
  }

  return {
    get: (route) => keys.get(route),
    routes: () => [...keys.keys()],
    async accept(route, key) {
      const reason = refusal(route, key);
      if (reason !== undefined) {
        // Anybody can bring one about, as often as they like.
        if (!reported.has(`${route} ${reason}`)) {
          reported.add(`${route} ${reason}`);
          logger.warn({ route, reason }, "a delivered key was not accepted");
        }
        return false;
      }
      pending.add(route);
      try {
        if (!(await inTurn(() => add(route, key)))) return false;
      } catch (error) {
        logger.error({ err: error, route }, "a delivered key could not be stored");
        throw error;
      } finally {
        pending.delete(route);
      }
      logger.info({ route }, "a delivered key was accepted");
      return true;
    },
    async forget(route) {
      if (!keys.has(route)) return false;
      await inTurn(async () => {
        await place.remove(route);
        keys.delete(route);
      });
      logger.info({ route }, "a delivered key was forgotten");
      return true;
    },
    share: (shared) =>
      inTurn(async () => {
        for (const [route, key] of keys) await shared.add(route, key);
        // Else one that is forgotten there would come back with the next start.
        if (keys.size > 0) await writePrivateFile(file, textOf(new Map()));
        place = shared;
        await readAgain();
      }),
    refresh: () => inTurn(readAgain),
  };
}

/** Writes the file as a whole; `keys` is what it has. */
function fileOfKeys(file: string, keys: ReadonlyMap<string, string>): SenderKeys {
  return {
    read: async () => keys,
    async add(route, key) {
      await writePrivateFile(file, textOf(new Map(keys).set(route, key)));
      return true;
    },
    async remove(route) {
      await writePrivateFile(file, textOf(new Map([...keys].filter(([each]) => each !== route))));
    },
  };
}

/** Reads the keys of a file by route; none when there is no file. Throws an Error for a damaged one. */
export async function readDeliveredKeys(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await readBoundedFile(file, MAX_FILE_BYTES);
  if (text === undefined) return new Map();
  const keys = keysIn(text);
  if (keys === undefined) {
    throw new Error(
      `${file} is damaged: it is not a list of delivered keys. Put back a good copy of it, or remove it and let the senders deliver their keys again.`,
    );
  }
  return keys;
}

/** `undefined` for anything but what {@link textOf} writes. An error of `JSON.parse` would show a part of the text. */
function keysIn(text: string): Map<string, string> | undefined {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(data) || data["version"] !== VERSION || !isRecord(data["keys"])) return undefined;
  const entries = Object.entries(data["keys"]);
  const isGood = (entry: [string, unknown]): entry is [string, string] =>
    typeof entry[1] === "string" && KEY.test(entry[1]);
  return entries.every(isGood) ? new Map(entries) : undefined;
}

function textOf(keys: ReadonlyMap<string, string>): string {
  return `${JSON.stringify({ version: VERSION, keys: Object.fromEntries(keys) }, undefined, 2)}\n`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function closeToOthers(file: string, logger: Logger): Promise<void> {
  const handle = await open(file, "r").catch(() => undefined);
  if (handle === undefined) return;
  try {
    const { mode } = await handle.stat();
    if ((mode & OTHERS) === 0) return;
    await handle.chmod(0o600);
    logger.warn({ file }, "others could read the file of delivered keys; now only its owner can");
  } finally {
    await handle.close();
  }
}
