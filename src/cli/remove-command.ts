/** `reveille remove`: takes a sender away, here and at the sender. */
import { existsSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { GMAIL } from "../config/gmail.ts";
import { shorten } from "../config/show-value.ts";
import { isPresetKey } from "../config/valid-subset.ts";
import { ConfigFile } from "./config-file.ts";
import type { TokenOptions } from "./connect/connection.ts";
import { nameOfKept, tokenToRemove, unregister } from "./connect/register.ts";
import { type KeptRegistration, Registrations } from "./connect/registrations.ts";
import { endSubscriptions, hasSubscription } from "./connect/subscribe.ts";
import { CliError, isForOwner } from "./errors.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { secretFile } from "./presets-command.ts";

export interface RemoveOptions extends GatewayCommandOptions, TokenOptions {
  readonly json?: boolean;
}

/** A webhook at the sender, and what was done about it. */
interface AtSender {
  readonly kept: KeptRegistration;
  readonly outcome: "deleted" | "was gone" | "left";
}

/**
 * Deletes the registered webhooks at the sender, then takes the sender out of the configuration, with the secret that
 * `add` has written for it. Where the sender refuses, the configuration stays, so that no call is answered 404.
 */
export async function removeSender(name: string, options: RemoveOptions, io: CliIo): Promise<void> {
  const { configFile, stateDir } = io.gateway.locate(options);
  const file = ConfigFile.read(configFile);
  const registrations = Registrations.beside(configFile);
  const isNamed = file.get(["hooks", "senders", name]) !== undefined;
  const place = isNamed ? ["hooks", "senders", name] : ["hooks", name];
  const written = file.get([...place, "secret"]);
  const presets = file.get(["hooks", "presets"]);
  const isListed = Array.isArray(presets) && presets.includes(name);
  // `remove mappings` names a key of the block, and no sender.
  const isSender = isPresetKey(name) || name === GMAIL;
  const isKnown = isNamed || isListed || (isSender && file.get(place) !== undefined);
  if (!isKnown && registrations.of(name).length === 0 && !hasSubscription(name, stateDir)) {
    throw new CliError(
      `There is no sender ${JSON.stringify(shorten(name))} in ${configFile}: ${io.gateway.program} presets lists what is in use.`,
    );
  }
  if (isKnown) {
    file.delete(place);
    file.removeFrom(["hooks", "presets"], name);
    // Where another part needs it, both ends stay.
    await file.check(io);
  }
  const atSender = await deleteAtSender(registrations, name, options, io);
  const subscriptions = await endSubscriptions(name, stateDir);
  let isSecretGone = false;
  const secretPath = join(dirname(configFile), secretFile(name));
  if (isKnown) {
    await file.save(io);
    const isOwn = JSON.stringify(written) === JSON.stringify({ file: secretFile(name) });
    isSecretGone = isOwn && existsSync(secretPath) && !namesFile(file.get([]), secretPath, dirname(configFile));
    if (isSecretGone) rmSync(secretPath);
  }
  if (options.json === true) {
    const webhooks = atSender.map(({ kept, outcome }) => ({ id: kept.id, place: kept.place, outcome }));
    io.out(`${JSON.stringify({ sender: name, secretRemoved: isSecretGone, webhooks, subscriptions }, undefined, 2)}\n`);
    return;
  }
  const isLeft =
    (atSender.length === 0 && subscriptions.length === 0) || atSender.some(({ outcome }) => outcome === "left");
  const lines = [
    ...(isKnown ? [`${name} is no longer in ${configFile}${isSecretGone ? `, and ${secretPath} is gone` : ""}.`] : []),
    ...atSender.map(({ kept, outcome }) => `The ${nameOfKept(kept)} ${OUTCOMES[outcome]}.`),
    ...subscriptions.map(({ resource, problem }) => problem ?? `The subscription of ${resource} has ended.`),
    ...(isLeft ? [`Its calls are answered 404 from now on: ${adviceFor(name, atSender, io)}.`] : []),
  ];
  io.out(`${lines.join("\n")}\n`);
}

/** True where another part of the configuration has its secret in the file as well. */
function namesFile(written: unknown, path: string, configDir: string): boolean {
  if (typeof written !== "object" || written === null) return false;
  return Object.entries(written).some(([key, value]: [string, unknown]) =>
    key === "file" && typeof value === "string"
      ? resolve(configDir, value) === path
      : namesFile(value, path, configDir),
  );
}

const OUTCOMES = {
  deleted: "is deleted at the sender",
  "was gone": "was gone already",
  left: "is still registered at the sender",
} as const;

function adviceFor(name: string, atSender: readonly AtSender[], io: CliIo): string {
  const byHand = "delete the webhook in the sender's settings as well";
  if (atSender.length === 0) return byHand;
  return `delete it with ${io.gateway.program} remove ${name} --token-env NAME, or ${byHand}`;
}

async function deleteAtSender(
  registrations: Registrations,
  name: string,
  options: RemoveOptions,
  io: CliIo,
): Promise<readonly AtSender[]> {
  const all = registrations.of(name);
  const token = await tokenToRemove(all, options, io);
  if (token === undefined) return all.map((kept) => ({ kept, outcome: "left" }));
  const done: AtSender[] = [];
  for (const kept of all) {
    // The token is that of one server, and goes to no other.
    if (kept.api !== all[0]!.api) {
      done.push({ kept, outcome: "left" });
      continue;
    }
    try {
      done.push({ kept, outcome: (await unregister(kept, token, registrations)) ? "deleted" : "was gone" });
    } catch (error) {
      if (!isForOwner(error)) throw error;
      const before = done.map((each) => `The ${nameOfKept(each.kept)} ${OUTCOMES[each.outcome]}.`);
      const rest = `${name} stays in the configuration. To take it out all the same, leave out the token.`;
      throw new CliError([...before, error.message, rest].join("\n"), { cause: error });
    }
  }
  return done;
}
