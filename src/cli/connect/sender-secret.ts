/** The secret of a sender that is being added: made, given, or there already. */
import { randomBytes } from "node:crypto";
import { existsSync, rmSync, statSync } from "node:fs";
import type { Preset } from "../../presets/preset.ts";
import { CliError } from "../errors.ts";
import type { CliIo } from "../io.ts";
import { secretFile } from "../presets-command.ts";
import { privateMode, writeNew } from "../replace-file.ts";

export interface SenderSecret {
  /** What the configuration has. */
  readonly written: { readonly secret: { readonly env: string } | { readonly file: string } };
  /** Absolute; absent for a variable. */
  readonly path?: string;
  /** To be pasted into the sender's settings. */
  readonly shown?: string;
  store(): void;
  /** Undoes `store`. */
  discard(): void;
}

export interface GivenSecret {
  /** Name of an environment variable that holds it. */
  readonly secretEnv?: string;
  /** What was piped into the command. */
  readonly piped: Uint8Array | undefined;
  readonly place: SecretPlace;
}

/** Where a secret is kept; both are absolute. */
export interface SecretPlace {
  readonly path: string;
  /** The secret has its owner: the gateway reads both, and root may run the command. */
  readonly configFile: string;
}

/** 40 digits: more than anyone can guess, and as many as the strictest sender takes. */
const SECRET_BYTES = 20;
/** Standard Webhooks takes 24 to 64. */
const WHSEC_BYTES = 32;

/** `undefined` for a sender without one. Rejects with a {@link CliError} when the sender makes it and it is not given. */
export async function makeSecret(
  preset: Preset,
  { secretEnv, place, piped }: GivenSecret,
  io: CliIo,
): Promise<SenderSecret | undefined> {
  const { secret, name } = preset;
  if (secret === undefined) return undefined;
  if (secretEnv !== undefined) return { written: { secret: { env: secretEnv } }, store() {}, discard() {} };
  // One that an earlier try has left, or that the owner has put there.
  if (existsSync(place.path)) {
    return { written: { secret: { file: secretFile(name) } }, path: place.path, store() {}, discard() {} };
  }
  const given = await givenSecret(preset, piped, io);
  const value = given ?? madeSecret(preset);
  return { ...storedSecret(name, place, value), ...(given === undefined && { shown: value }) };
}

function madeSecret(preset: Preset): string {
  const { scheme, keyEncoding } = preset.auth({});
  if (keyEncoding === "whsec") return `whsec_${randomBytes(WHSEC_BYTES).toString("base64")}`;
  const made = randomBytes(SECRET_BYTES).toString("hex");
  return scheme === "basic" ? `reveille:${made}` : made;
}

/** A secret that is known, in a file of its own. */
export function storedSecret(name: string, { path, configFile }: SecretPlace, value: string): SenderSecret {
  let isStored = false;
  return {
    written: { secret: { file: secretFile(name) } },
    path,
    store: () => {
      const { uid, gid, mode } = statSync(configFile);
      writeNew(path, `${value}\n`, { mode: privateMode({ mode }), uid, gid });
      isStored = true;
    },
    // What another command has put there meanwhile stays.
    discard: () => {
      if (isStored) rmSync(path, { force: true });
    },
  };
}

/** The secret that was piped or typed; `undefined`: the owner makes one. */
async function givenSecret(
  { secret, title, name }: Preset,
  piped: Uint8Array | undefined,
  io: CliIo,
): Promise<string | undefined> {
  if (piped !== undefined) return new TextDecoder().decode(piped).trim();
  if (secret!.madeBy !== "sender") return undefined;
  const typed = (await io.ask?.(`The ${secret!.label} that ${title} shows: `))?.trim() ?? "";
  if (typed !== "") return typed;
  throw new CliError(
    `${title} makes the ${secret!.label} itself. Pipe it: ${io.gateway.program} add ${name} < file. Or name a variable: --secret-env NAME`,
  );
}
