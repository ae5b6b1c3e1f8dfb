/** What the owner says about a sender's side: where, with which token, for which events. */
import { readFileSync, statSync } from "node:fs";
import { SUBSCRIPTION_KINDS } from "../../hosts/embedded/subscriptions/renewal.ts";
import type { Preset } from "../../presets/preset.ts";
import { CliError } from "../errors.ts";
import type { CliIo } from "../io.ts";
import { githubWebhooks } from "./github-webhooks.ts";
import { gitlabWebhooks } from "./gitlab-webhooks.ts";
import type { HookPlace, PlaceKind, Registrar } from "./registrar.ts";
import {
  readSubscription,
  subscriptionKind,
  type SubscriptionConnection,
  type SubscriptionOptions,
} from "./subscribe.ts";
import { stripeWebhooks } from "./stripe-webhooks.ts";
import { telegramWebhook } from "./telegram-webhook.ts";

export const REGISTRARS: readonly Registrar[] = [githubWebhooks, gitlabWebhooks, stripeWebhooks, telegramWebhook];

export interface TokenOptions {
  /** Name of an environment variable. */
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
}

export interface PlaceOptions {
  readonly repo?: string;
  readonly org?: string;
  readonly project?: string;
  readonly group?: string;
}

export interface ConnectionOptions extends TokenOptions, PlaceOptions, SubscriptionOptions {
  /** Base URL of the API. */
  readonly api?: string;
  /** Separated by commas. */
  readonly events?: string;
  readonly replace?: boolean;
  readonly json?: boolean;
}

/** The sender's side, as the owner wants it. */
export type Connection = WebhookConnection | SubscriptionConnection;

export interface WebhookConnection {
  readonly registrar: Registrar;
  readonly base: string;
  readonly token: string;
  readonly place: HookPlace | null;
  readonly events: readonly string[] | undefined;
  readonly replace: boolean;
}

/**
 * Reads the options, and asks for what is missing where a person can answer. `undefined`: the owner registers the
 * webhook by hand. Throws a {@link CliError} for options that do not fit.
 */
export async function readConnection(
  { name, title }: Pick<Preset, "name" | "title">,
  options: ConnectionOptions,
  io: CliIo,
): Promise<Connection | undefined> {
  const isWished = isRegistrationWished(options);
  const kind = subscriptionKind(name);
  if (kind !== undefined) {
    if (!isWished) return undefined;
    return readSubscription(kind, options, { base: readBase(options.api ?? kind.api), events: readEvents(options) });
  }
  const registrar = REGISTRARS.find(({ preset }) => preset === name);
  if (registrar === undefined) {
    if (!isWished) return undefined;
    throw new CliError(
      `${title} is registered by hand: leave out the options about its side, and follow the steps. These are registered: ${[...REGISTRARS, ...SUBSCRIPTION_KINDS].map(({ preset }) => preset).join(", ")}.`,
    );
  }
  const asked = options.json === true ? { ...io, ask: undefined } : io;
  const given = placeOf(registrar, options);
  const place = given ?? (await askPlace(registrar, asked));
  if (registrar.places.length > 0 && place === undefined) {
    if (!isWished) return undefined;
    throw new CliError(`Say where at ${title}: ${registrar.places.map(flagOf).join(" or ")}`);
  }
  const byHand = isWished || place !== undefined ? "" : " (Enter: by hand)";
  const question = `To register the webhook, the token for ${title}, used once: ${registrar.tokenKind}${byHand}: `;
  const token = await readToken(options, question, asked);
  if (token === undefined) {
    if (!isWished && place === undefined) return undefined;
    throw new CliError(
      `Give the token for ${title} in a variable or a file: --token-env NAME or --token-file FILE. ${tokenText(registrar)}`,
    );
  }
  const events = readEvents(options);
  return {
    registrar,
    base: readBase(options.api ?? registrar.api),
    token,
    place: place ?? null,
    events,
    replace: options.replace === true,
  };
}

function readEvents(options: ConnectionOptions): readonly string[] | undefined {
  const events = options.events?.split(",").map((event) => event.trim());
  if (events?.some((event) => !EVENT.test(event)) === true) {
    throw new CliError("Write the events with commas between them: --events issues,pull_request");
  }
  return events;
}

/** True when an option speaks of the sender's side. */
export function isRegistrationWished(options: ConnectionOptions): boolean {
  const { repo, org, project, group, tokenEnv, tokenFile, api, events, replace } = options;
  const { credentialsFile, resource, tokenUrl } = options;
  const ofWebhook = [repo, org, project, group, tokenEnv, tokenFile, api, events, replace];
  return [...ofWebhook, credentialsFile, resource, tokenUrl].some((each) => each !== undefined);
}

/** The options with which `add` registers a sender's webhook; `undefined`: it is registered by hand alone. */
export function registrationOptions(preset: string): string | undefined {
  const kind = subscriptionKind(preset);
  if (kind !== undefined) {
    return `--credentials-file FILE${kind.resource === undefined ? ` ${kind.resourceHint}` : ""}`;
  }
  const registrar = REGISTRARS.find((each) => each.preset === preset);
  if (registrar === undefined) return undefined;
  return [...registrar.places.slice(0, 1).map(flagOf), "--token-env NAME"].join(" ");
}

function tokenText({ tokenKind }: Registrar): string {
  return `It must be ${tokenKind}.`;
}

const EVENT = /^[\w.*:-]{1,100}$/u;
const PLACE_KINDS: readonly PlaceKind[] = ["repo", "org", "project", "group"];
const EXAMPLES: Readonly<Record<PlaceKind, string>> = {
  repo: "owner/name",
  org: "name",
  project: "group/name",
  group: "name",
};
const NAMES: Readonly<Record<PlaceKind, RegExp>> = {
  repo: /^[\w.-]{1,100}\/[\w.-]{1,100}$/u,
  org: /^[\w.-]{1,100}$/u,
  project: /^[\w.-]{1,100}(?:\/[\w.-]{1,100}){1,20}$|^\d{1,20}$/u,
  group: /^[\w.-]{1,100}(?:\/[\w.-]{1,100}){0,20}$/u,
};

function flagOf(kind: PlaceKind): string {
  return `--${kind} ${EXAMPLES[kind]}`;
}

/** The place that an option names. */
export function placeOf(registrar: Registrar, options: PlaceOptions): HookPlace | undefined {
  const named = PLACE_KINDS.flatMap((kind) => {
    const name = options[kind];
    return name === undefined ? [] : [{ kind, name }];
  });
  const surplus = named.find(({ kind }, at) => at > 0 || !registrar.places.includes(kind));
  if (surplus !== undefined) {
    const takes = registrar.places.length === 0 ? "no place" : registrar.places.map(flagOf).join(" or ");
    throw new CliError(`${registrar.title} takes ${takes}, and not --${surplus.kind} as well.`);
  }
  return named[0] && checked(named[0]);
}

async function askPlace(registrar: Registrar, io: Pick<CliIo, "ask">): Promise<HookPlace | undefined> {
  const [first, second] = registrar.places;
  if (first === undefined || second === undefined || io.ask === undefined) return undefined;
  const question = `The ${first} at ${registrar.title} that is to call, ${EXAMPLES[first]} (Enter: register it by hand): `;
  const name = (await io.ask(question, { isShown: true })).trim();
  if (name === "") return undefined;
  return checked({ kind: NAMES[first].test(name) ? first : second, name });
}

function checked({ kind, name }: HookPlace): HookPlace {
  const isTraversal = name.split("/").some((part) => part === "." || part === "..");
  if (NAMES[kind].test(name) && !isTraversal) return { kind, name };
  throw new CliError(`"${name.slice(0, 100)}" is no ${kind}; write ${flagOf(kind)}`);
}

const MAX_TOKEN_BYTES = 16_384;

/** The token from where the options say, or from a person; `undefined`: none. Throws a {@link CliError}. */
export async function readToken(
  { tokenEnv, tokenFile }: TokenOptions,
  question: string,
  io: Pick<CliIo, "ask" | "env">,
): Promise<string | undefined> {
  const token = (tokenIn(tokenEnv, io) ?? tokenAt(tokenFile) ?? (await io.ask?.(question)) ?? "").trim();
  if (token === "") return undefined;
  if (!/^[\u0021-\u007E]{1,8192}$/u.test(token)) throw new CliError("The token holds characters that no token has.");
  return token;
}

function tokenIn(name: string | undefined, { env }: Pick<CliIo, "env">): string | undefined {
  if (name === undefined) return undefined;
  const token = env[name] ?? "";
  if (token === "") throw new CliError(`The variable ${name} is not set or empty.`);
  return token;
}

function tokenAt(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  if (statSync(file).size > MAX_TOKEN_BYTES) throw new CliError(`${file} is too large for a token.`);
  const token = readFileSync(file, "utf8");
  if (token.trim() === "") throw new CliError(`${file} is empty.`);
  return token;
}

/** The base URL of an API: https, since a token goes there, or http on this machine. */
export function readBase(text: string): string {
  const url = URL.parse(text);
  const isLocal = url !== null && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u.test(url.hostname);
  if (url === null || (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal))) {
    throw new CliError("--api must begin with https://, since the token goes there.");
  }
  if (url.username !== "" || url.search !== "" || url.hash !== "") {
    throw new CliError("--api must be a base URL alone, such as https://github.example.com/api/v3");
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/u, "");
}
