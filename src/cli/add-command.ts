/** `reveille add` and `reveille remove`: one sender, in the configuration and as far as its own settings. */
import { randomBytes } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { HookStates } from "../index.ts";
import type { Preset } from "../presets/preset.ts";
import { ConfigFile } from "./config-file.ts";
import { CliError } from "./errors.ts";
import { askGateway, readStatus } from "./gateway-client.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { fillIn, knownPresets, type KnownPresets, presetNamed, secretFile, urlOf } from "./presets-command.ts";

export interface AddOptions extends GatewayCommandOptions {
  /** Name of an environment variable that holds the secret. */
  readonly secretEnv?: string;
  /** `key=value` for the settings of the preset and of its mapping. */
  readonly set: readonly string[];
  readonly json?: boolean;
}

const SECRET_BYTES = 32;
/** A gateway that runs reads the file within this time. */
const TAKEN_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 200;

/** The place of the sender in the file, and that of its secret. */
interface Place {
  readonly file: ConfigFile;
  /** Absolute. */
  readonly secretPath: string;
}

/**
 * Writes a sender into the configuration, its secret into a file of its own, and says what is left to do in the
 * sender's settings. Rejects with a `ConfigError` and changes nothing where the file would not be valid.
 */
export async function addSender(name: string, options: AddOptions, io: CliIo): Promise<void> {
  const known = await knownPresets(options, io);
  if (known.loaded === undefined) {
    throw new CliError(`There is no configuration yet. Begin with: ${io.gateway.setupCommand}`);
  }
  const preset = presetNamed(known.presets, name);
  const { configFile } = io.gateway.locate(options);
  const place = { file: ConfigFile.read(configFile), secretPath: join(dirname(configFile), secretFile(name)) };
  if (place.file.get(["hooks", name]) !== undefined) {
    throw new CliError(
      `${name} is there already: ${io.gateway.program} presets show ${name}. For a second one, write hooks.senders.`,
    );
  }
  const settings = readSettings(options.set);
  const missing = (preset.settings?.required ?? []).filter((key) => !(key in settings));
  if (missing.length > 0) {
    throw new CliError(`${preset.title} needs ${missing.map((key) => `--set ${key}=...`).join(" ")}`);
  }
  const steps = stepsOf(preset, known, io);
  // A secret that the sender makes is known only after its steps.
  const isAsked =
    preset.secret?.madeBy === "sender" && options.secretEnv === undefined && !existsSync(place.secretPath);
  if (isAsked && options.json !== true) io.out(`At ${preset.title}:\n${steps}\n`);
  const secret = await makeSecret(preset, place, options, io);
  place.file.addTo(["hooks", "presets"], name);
  place.file.set(["hooks", name], { ...secret?.written, ...settings });
  secret?.store();
  try {
    await place.file.save(io);
  } catch (error) {
    secret?.discard();
    throw error;
  }
  const gateway = await taken(name, options, io);
  const url = urlOf(preset, undefined, { loaded: known.loaded, defaultPath: io.gateway.defaultPath });
  if (options.json === true) {
    const document = {
      sender: name,
      url,
      secretFile: secret?.path ?? null,
      gateway,
      setup: preset.setup.map((step) => fillIn(step, preset, url)),
    };
    io.out(`${JSON.stringify(document, undefined, 2)}\n`);
    return;
  }
  const lines = [
    `${preset.title} is in ${configFile}${secret?.path === undefined ? "" : `, and its ${preset.secret!.label} in ${secret.path}`}.`,
    GATEWAY_TEXTS[gateway],
    ...(isAsked ? [] : [`At ${preset.title}:`, steps.trimEnd()]),
    ...(secret?.shown === undefined ? [] : [`The ${preset.secret!.label}: ${secret.shown}`]),
    `Try it: ${io.gateway.program} send ${name} ${Object.keys(preset.samples)[0]}`,
  ];
  io.out(`${lines.join("\n")}\n`);
}

/** Takes a sender out of the configuration, and away the secret that `add` has written for it. */
export async function removeSender(
  name: string,
  options: GatewayCommandOptions & { readonly json?: boolean },
  io: CliIo,
): Promise<void> {
  const { configFile } = io.gateway.locate(options);
  const file = ConfigFile.read(configFile);
  const written = file.get(["hooks", name, "secret"]);
  const known = file.delete(["hooks", name]);
  file.removeFrom(["hooks", "presets"], name);
  if (!known)
    throw new CliError(`hooks.${name} is not in ${configFile}: ${io.gateway.program} presets lists what is in use.`);
  await file.save(io);
  const secretPath = join(dirname(configFile), secretFile(name));
  const isOwn = JSON.stringify(written) === JSON.stringify({ file: secretFile(name) }) && existsSync(secretPath);
  if (isOwn) rmSync(secretPath);
  if (options.json === true) {
    io.out(`${JSON.stringify({ sender: name, secretRemoved: isOwn }, undefined, 2)}\n`);
    return;
  }
  io.out(
    `${name} is no longer in ${configFile}${isOwn ? `, and ${secretPath} is gone` : ""}.\n` +
      "Its calls are answered 404 from now on: delete the webhook in the sender's settings as well.\n",
  );
}

interface Secret {
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

async function makeSecret(
  preset: Preset,
  { secretPath }: Place,
  { secretEnv }: AddOptions,
  io: CliIo,
): Promise<Secret | undefined> {
  const { secret, name } = preset;
  if (secret === undefined) return undefined;
  if (secretEnv !== undefined) return { written: { secret: { env: secretEnv } }, store() {}, discard() {} };
  const written = { secret: { file: secretFile(name) } };
  // One that an earlier try has left, or that the owner has put there.
  if (existsSync(secretPath)) return { written, path: secretPath, store() {}, discard() {} };
  const given = await givenSecret(preset, io);
  const value = given ?? randomBytes(SECRET_BYTES).toString("hex");
  return {
    written,
    path: secretPath,
    ...(given === undefined && { shown: value }),
    store: () => writeFileSync(secretPath, `${value}\n`, { flag: "wx", mode: 0o600 }),
    discard: () => rmSync(secretPath, { force: true }),
  };
}

/** The secret that was piped or typed; `undefined`: the owner makes one. */
async function givenSecret({ secret, title, name }: Preset, io: CliIo): Promise<string | undefined> {
  const piped = await io.readPiped();
  if (piped !== undefined) return new TextDecoder().decode(piped).trim();
  if (secret!.madeBy !== "sender") return undefined;
  const typed = (await io.ask?.(`The ${secret!.label} that ${title} shows: `))?.trim() ?? "";
  if (typed !== "") return typed;
  throw new CliError(
    `${title} makes the ${secret!.label} itself. Pipe it: ${io.gateway.program} add ${name} < file. Or name a variable: --secret-env NAME`,
  );
}

function readSettings(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new CliError(`"${pair}" is no setting; write --set key=value`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

function stepsOf(preset: Preset, { loaded }: KnownPresets, io: CliIo): string {
  const url = urlOf(preset, undefined, { loaded, defaultPath: io.gateway.defaultPath });
  return preset.setup.map((step, at) => `  ${at + 1}. ${fillIn(step, preset, url)}\n`).join("");
}

type Taken = "took it" | "is not running" | "has not taken it";

const GATEWAY_TEXTS: Readonly<Record<Taken, string>> = {
  "took it": "The running gateway has taken it.",
  "is not running": "The gateway is not running; it is there at the next start.",
  "has not taken it": "The running gateway has not taken it: its log says why.",
};

/** Waits until the gateway that runs knows the sender. */
async function taken(name: string, options: GatewayCommandOptions, io: CliIo): Promise<Taken> {
  const access = await io.gateway.access(options);
  if ((await readStatus(access)) === undefined) return "is not running";
  const deadline = Date.now() + TAKEN_WITHIN_MS;
  for (;;) {
    const { mappings } = await askGateway<HookStates>(access, "/hooks");
    if (mappings.some(({ preset }) => preset === name)) return "took it";
    if (Date.now() > deadline) return "has not taken it";
    await sleep(LOOK_EVERY_MS);
  }
}
