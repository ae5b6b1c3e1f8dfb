/** `reveille add`: one sender, in the configuration and at the sender. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Check } from "typebox/schema";
import { presetBlockSchema } from "../config/preset.ts";
import type { HookStates } from "../index.ts";
import type { Preset } from "../presets/preset.ts";
import { valueOf } from "./config-command.ts";
import { ConfigFile } from "./config-file.ts";
import { isRegistrationWished, readConnection, registrationOptions } from "./connect/connection.ts";
import type { Connection, ConnectionOptions, WebhookConnection } from "./connect/connection.ts";
import { register, secretOf, unregister } from "./connect/register.ts";
import type { Registered } from "./connect/registrar.ts";
import { Registrations } from "./connect/registrations.ts";
import { makeSecret, type SenderSecret, storedSecret } from "./connect/sender-secret.ts";
import { makeSubscription } from "./connect/subscribe.ts";
import { CliError, isForOwner } from "./errors.ts";
import { configWords } from "./file-locations.ts";
import { askGateway, readStatus } from "./gateway-client.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { stepText, knownPresets, presetNamed, secretFile, senderNamed, urlOf } from "./presets-command.ts";
import { printable } from "./terminal-text.ts";

export interface AddOptions extends GatewayCommandOptions, ConnectionOptions {
  /** Name of an environment variable that holds the secret. */
  readonly secretEnv?: string;
  /** `key=value` for the settings of the preset and of its mapping. */
  readonly set: readonly string[];
}

/** A gateway that runs reads the file within this time. */
const TAKEN_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 200;

/** What was done, for the report. */
interface Added {
  readonly preset: Preset;
  readonly url: string;
  readonly configFile: string;
  /** `undefined`: it was in the configuration before. */
  readonly gateway: Taken | undefined;
  readonly secret: SenderSecret | undefined;
  /** True when the steps have been printed. */
  readonly isGuided: boolean;
  readonly registered: Registered | undefined;
  /** Why it is not registered at the sender. */
  readonly problem: string | undefined;
}

/**
 * Writes a sender into the configuration and its secret into a file of its own, and registers the webhook at the sender
 * or says what is left to do there; a sender that is in the configuration is only registered. Resolves with the exit
 * code. Rejects with a `ConfigError` and changes nothing where the file would not be valid.
 */
export async function addSender(name: string, options: AddOptions, io: CliIo): Promise<number> {
  const known = await knownPresets(options, io);
  if (known.loaded === undefined) {
    throw new CliError(`There is no configuration yet. Begin with: ${io.gateway.setupCommand}`);
  }
  const { configFile, stateDir } = io.gateway.locate(options);
  const file = ConfigFile.read(configFile);
  const there = senderNamed(known.loaded, name);
  const preset = presetNamed(known.presets, there?.preset ?? name);
  const isThere = there !== undefined || file.get(["hooks", name]) !== undefined;
  if (isThere && !isRegistrationWished(options)) {
    const again = `To register its webhook again, say where and with which token: ${io.gateway.program} add --help.`;
    const second = "For a second one, write hooks.senders.";
    throw new CliError(`${name} is there already: ${io.gateway.program} presets show ${name}. ${again} ${second}`);
  }
  const settings = readSettings(preset, options.set);
  const missing = (preset.settings?.required ?? []).filter((key) => !(key in settings));
  if (!isThere && missing.length > 0) {
    throw new CliError(`${preset.title} needs ${missing.map((key) => `--set ${key}=...`).join(" ")}`);
  }
  const { publicUrl } = known.loaded.active.config;
  const isKnown = publicUrl !== undefined && !new URL(publicUrl).hostname.endsWith(".invalid");
  const isPossible = isKnown || isRegistrationWished(options);
  const connection = isPossible ? await readConnection(preset, options, io) : undefined;
  if (connection !== undefined && !isKnown) {
    const advice =
      publicUrl === undefined
        ? `hooks.publicUrl is not set. Set it first: ${io.gateway.program} config set hooks.publicUrl https://gateway.example.com`
        : "gateway.expose has not given a public URL yet. Start the gateway first.";
    throw new CliError(`${preset.title} cannot be given a URL: ${advice}`);
  }
  const where = { loaded: known.loaded, defaultPath: io.gateway.defaultPath };
  const { path = name } = settings;
  const url = urlOf(there?.match.path ?? String(path), where);
  const place = { file, configFile, stateDir, url, kept: Registrations.beside(configFile) };
  const added = isThere
    ? {
        gateway: undefined,
        secret: undefined,
        isGuided: true,
        ...(await registerThere(name, connection!, place, options, io)),
      }
    : await addNew(preset, { connection, settings, place }, options, io);
  report({ preset, url, configFile, ...added }, options, io);
  return added.problem === undefined ? 0 : 1;
}

type AtSender = Pick<Added, "registered" | "problem">;

interface AddPlace {
  readonly file: ConfigFile;
  readonly configFile: string;
  readonly stateDir: string;
  readonly url: string;
  readonly kept: Registrations;
}

interface NewSender {
  readonly connection: Connection | undefined;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly place: AddPlace;
}

async function addNew(
  preset: Preset,
  { connection, settings, place }: NewSender,
  options: AddOptions,
  io: CliIo,
): Promise<Omit<Added, "preset" | "url" | "configFile">> {
  const { name } = preset;
  const { file, url, kept } = place;
  const { configFile } = place;
  const secretPlace = { path: join(dirname(configFile), secretFile(name)), configFile };
  const isMissing = preset.secret !== undefined && options.secretEnv === undefined && !existsSync(secretPlace.path);
  // A secret that the sender makes is known only after its steps.
  const isGuided = isMissing && preset.secret.madeBy === "sender" && connection === undefined;
  if (isGuided && options.json !== true) io.out(`At ${preset.title}:\n${stepsOf(preset, url)}\n`);
  const piped = isMissing ? await io.readPiped() : undefined;
  const isMadeThere = isMissing && preset.secret.madeBy === "sender" && piped === undefined;
  const made =
    isMadeThere && connection !== undefined && "registrar" in connection
      ? await register(connection, { sender: name, url, secret: undefined, kept })
      : undefined;
  const secret =
    made?.secret === undefined
      ? await makeSecret(preset, { ...options, place: secretPlace, piped }, io)
      : storedSecret(name, secretPlace, made.secret);
  file.addTo(["hooks", "presets"], name);
  file.set(["hooks", name], { ...secret?.written, ...settings });
  try {
    secret?.store();
    await file.save(io);
  } catch (error) {
    secret?.discard();
    if (made !== undefined && connection !== undefined && "token" in connection) {
      await takeBack(made, connection, place, io);
    }
    throw error;
  }
  const gateway = file.get(["hooks", "enabled"]) === true ? await taken(name, options, io) : "has hooks off";
  const common = { gateway, secret, isGuided };
  if (connection === undefined || made !== undefined) return { ...common, registered: made, problem: undefined };
  if (gateway !== "has not taken it" && gateway !== "has hooks off")
    return { ...common, ...(await registerThere(name, connection, place, options, io)) };
  return { ...common, registered: undefined, problem: "The gateway would refuse its calls." };
}

/** Deletes what was registered for a sender that the configuration does not take. */
async function takeBack(
  { id, name }: Registered,
  { token }: WebhookConnection,
  { kept }: AddPlace,
  io: CliIo,
): Promise<void> {
  const registration = kept.find(id);
  try {
    if (registration !== undefined) await unregister(registration, token, kept);
  } catch (error) {
    if (!isForOwner(error)) throw error;
    io.err(`${error.message}\nThe ${name} is still there: delete it in the sender's settings.\n`);
  }
}

/** Registers a sender that the configuration has. */
async function registerThere(
  name: string,
  connection: Connection,
  place: AddPlace,
  options: AddOptions,
  io: CliIo,
): Promise<AtSender> {
  const { loaded } = await knownPresets(options, io);
  const mapping = senderNamed(loaded, name) ?? loaded?.active.config.mappings.find(({ preset }) => preset === name);
  try {
    if (mapping === undefined) throw new CliError(`hooks.presets does not have ${name}.`);
    const secret = "kind" in connection && !connection.kind.hasSecret ? undefined : secretOf(mapping);
    const registering = { ...place, sender: name, secret };
    const registered =
      "kind" in connection ? await makeSubscription(connection, registering) : await register(connection, registering);
    return { registered, problem: undefined };
  } catch (error) {
    if (!isForOwner(error)) throw error;
    return { registered: undefined, problem: error.message };
  }
}

function report({ preset, url, configFile, ...added }: Added, options: AddOptions, io: CliIo): void {
  const { gateway, secret, registered, problem, isGuided } = added;
  if (options.json === true) {
    const document = {
      sender: preset.name,
      url,
      secretFile: secret?.path ?? null,
      gateway: gateway ?? null,
      webhook:
        registered === undefined ? null : { id: registered.id, isNew: registered.isNew, events: registered.events },
      problem: problem ?? null,
      setup: preset.setup.map((step) => stepText(step, preset, url)),
    };
    io.out(`${JSON.stringify(document, undefined, 2)}\n`);
    return;
  }
  const canRegister = registrationOptions(preset.name);
  const isByHand = registered === undefined && problem === undefined && !isGuided;
  const lines = [
    ...(gateway === undefined
      ? []
      : [
          `${preset.title} is in ${configFile}${secret?.path === undefined ? "" : `, and its ${preset.secret!.label} in ${secret.path}`}.`,
          takenText(gateway),
        ]),
    ...(isByHand ? [`At ${preset.title}:`, stepsOf(preset, url, secret?.shown).trimEnd()] : []),
    ...(isByHand && secret?.shown !== undefined
      ? [`The ${preset.secret!.label}, which is set here already, so do not choose another: ${secret.shown}`]
      : []),
    ...(isByHand && canRegister !== undefined
      ? [`Or let this command register it: ${io.gateway.program} add ${preset.name} ${canRegister}`]
      : []),
    ...(registered === undefined ? [] : [printable(registeredText(preset, url, registered))]),
    ...(problem === undefined
      ? [`Try it: ${io.gateway.program} send ${preset.name} ${Object.keys(preset.samples)[0]}${configWords(options)}`]
      : []),
  ];
  io.out(`${lines.join("\n")}${lines.length === 0 ? "" : "\n"}`);
  if (problem === undefined) return;
  io.err(
    `${problem}\nThe webhook is not registered. Give the command again when that is mended, or register it by hand: ${io.gateway.program} presets show ${preset.name}\n`,
  );
}

function registeredText({ title }: Preset, url: string, { name, isNew, events }: Registered): string {
  const what = events.length === 0 ? "" : `, for ${events.join(", ")}`;
  return `${title} calls ${url} from now on: ${name}${isNew ? "" : " was there and is updated"}${what}.`;
}

/** A value is a text where one belongs, else JSON5: `timeoutSeconds=120`. */
function readSettings(preset: Preset, pairs: readonly string[]): Record<string, unknown> {
  const { properties } = presetBlockSchema(preset);
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new CliError(`"${pair}" is no setting; write --set key=value`);
      const [key, text] = [pair.slice(0, at), pair.slice(at + 1)];
      const isText = !Object.hasOwn(properties, key) || Check(properties[key]!, text);
      return [key, isText ? text : valueOf(text)];
    }),
  );
}

/** `<{secret}>` stands where the secret itself is to be. */
function stepsOf(preset: Preset, url: string, secret?: string): string {
  const steps = preset.setup.map((step) => (secret === undefined ? step : step.replaceAll("<{secret}>", secret)));
  return steps.map((step, at) => `  ${at + 1}. ${stepText(step, preset, url)}\n`).join("");
}

const GATEWAY_TEXTS = {
  "took it": "The running gateway has taken it.",
  "is not running": "The gateway is not running; it is there at the next start.",
  "has not taken it": "The running gateway has not taken it: its log says why.",
  "has hooks off": "Hooks are off, so its calls are answered 404 until hooks.enabled is true.",
} as const;

type Taken = keyof typeof GATEWAY_TEXTS | `set it aside: ${string}`;

function takenText(taken: Taken): string {
  return taken in GATEWAY_TEXTS
    ? GATEWAY_TEXTS[taken as keyof typeof GATEWAY_TEXTS]
    : `The running gateway has ${taken}. Its calls are answered 503 until that is mended.`;
}

/** Waits until the gateway that runs knows the sender. */
async function taken(name: string, options: GatewayCommandOptions, io: CliIo): Promise<Taken> {
  const access = await io.gateway.access(options);
  if ((await readStatus(access)) === undefined) return "is not running";
  const deadline = Date.now() + TAKEN_WITHIN_MS;
  for (;;) {
    const { mappings } = await askGateway<HookStates>(access, "/hooks");
    const mapping = mappings.find(({ preset }) => preset === name);
    if (mapping !== undefined) return mapping.broken === null ? "took it" : `set it aside: ${mapping.broken}`;
    if (Date.now() > deadline) return "has not taken it";
    await sleep(LOOK_EVERY_MS);
  }
}
