/** Subscriptions that end: made here, renewed by the gateway. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { accessToken, readCredentials } from "../../hosts/embedded/subscriptions/access-token.ts";
import {
  MAX_SUBSCRIPTIONS,
  type SubscriptionRecord,
  SubscriptionRecords,
} from "../../hosts/embedded/subscriptions/records.ts";
import { endSubscription, SUBSCRIPTION_KINDS } from "../../hosts/embedded/subscriptions/renewal.ts";
import { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";
import type { SubscriptionKind } from "../../hosts/embedded/subscriptions/subscription.ts";
import type { ConfigFile } from "../config-file.ts";
import { CliError, isForOwner } from "../errors.ts";
import { giveFromRoot, makeFolder, ownerAt } from "../replace-file.ts";
import type { Registered } from "./registrar.ts";

export interface SubscriptionOptions {
  /** JSON with the credentials by which access tokens are had. */
  readonly credentialsFile?: string;
  readonly resource?: string;
  readonly tokenUrl?: string;
}

/** The sender's side, as the owner wants it. */
export interface SubscriptionConnection {
  readonly kind: SubscriptionKind;
  readonly base: string;
  readonly tokenUrl: string;
  /** Absolute. */
  readonly credentials: string;
  readonly resource: string;
  readonly events: readonly string[];
}

export function subscriptionKind(preset: string): SubscriptionKind | undefined {
  return SUBSCRIPTION_KINDS.find((kind) => kind.preset === preset);
}

/** Throws a {@link CliError} or a `SenderApiError` for what is missing or cannot be read. */
export function readSubscription(
  kind: SubscriptionKind,
  { credentialsFile, resource = kind.resource, tokenUrl = kind.tokenUrl }: SubscriptionOptions,
  { base, events = kind.events }: { readonly base: string; readonly events: readonly string[] | undefined },
): SubscriptionConnection {
  if (credentialsFile === undefined) {
    throw new CliError(
      `${kind.title} is asked again and again, so it needs credentials that stay: --credentials-file FILE. The token must be ${kind.tokenKind}.`,
    );
  }
  if (resource === undefined) throw new CliError(`Say what ${kind.title} is to watch: ${kind.resourceHint}`);
  const credentials = resolve(credentialsFile);
  readCredentials(credentials);
  return { kind, base, tokenUrl, credentials, resource, events };
}

export interface Subscribing {
  readonly sender: string;
  readonly url: string;
  readonly stateDir: string;
  /** `undefined`: the sender gets none. */
  readonly secret: string | undefined;
  readonly file: ConfigFile;
  readonly configFile: string;
}

/** Makes the subscription, in the place of the one before it, and keeps what its renewal needs. */
export async function makeSubscription(
  connection: SubscriptionConnection,
  subscribing: Subscribing,
): Promise<Registered> {
  const { kind, base, tokenUrl, credentials, resource, events } = connection;
  const { sender, url, stateDir, configFile, secret = "" } = subscribing;
  const source = kind.hasSecret ? secretSource(subscribing) : null;
  const records = new SubscriptionRecords(stateDir);
  const known = records.all();
  const before = known.find((each) => each.sender === sender && each.resource === resource);
  if (before === undefined && known.length >= MAX_SUBSCRIPTIONS) {
    throw new CliError(`A gateway renews at most ${MAX_SUBSCRIPTIONS} subscriptions, and that many are there.`);
  }
  const token = await accessToken(kind, { credentials, tokenUrl });
  const api = new SenderApi(kind, { base, token, secrets: [secret] });
  const begun = await kind.begin(api, { url, resource, events, secret: () => secret });
  const record = {
    sender,
    preset: kind.preset,
    api: base,
    tokenUrl,
    credentials,
    secret: source,
    url,
    resource,
    events: [...events],
    begunAt: Date.now(),
    ...begun,
  };
  // The gateway reads and renews it, so it is for the gateway's user also when root adds the sender.
  const { uid, gid } = ownerAt(existsSync(stateDir) ? stateDir : configFile);
  const owner = { uid, gid };
  makeFolder(dirname(records.fileOf(record)), owner);
  records.save(record);
  giveFromRoot([records.fileOf(record)], owner);
  if (before !== undefined && before.id !== begun.id) await kind.end(api, before).catch(() => {});
  const name = `a subscription of ${resource} until ${minute(begun.expiresAt)}, which the gateway renews before that`;
  return { id: begun.id, name, isNew: before === undefined, events };
}

export function hasSubscription(sender: string, stateDir: string): boolean {
  return new SubscriptionRecords(stateDir).all().some((record) => record.sender === sender);
}

export interface EndedSubscription {
  readonly resource: string;
  /** `undefined`: it has ended. */
  readonly problem: string | undefined;
}

/** Ends the subscriptions of a sender; one that cannot be ended is renewed no more. */
export async function endSubscriptions(sender: string, stateDir: string): Promise<readonly EndedSubscription[]> {
  const records = new SubscriptionRecords(stateDir);
  const ended: EndedSubscription[] = [];
  for (const record of records.all().filter((each) => each.sender === sender)) {
    records.delete(record);
    ended.push({ resource: record.resource, problem: await problemOfEnd(record) });
  }
  return ended;
}

async function problemOfEnd(record: SubscriptionRecord): Promise<string | undefined> {
  try {
    await endSubscription(record);
    return undefined;
  } catch (error) {
    if (!isForOwner(error)) throw error;
    return `${error.message} It is renewed no more, and ends by itself at ${minute(record.expiresAt)}.`;
  }
}

function minute(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** The gateway reads it there when a subscription has to be made once more. */
function secretSource({ sender, file, configFile }: Subscribing): { file: string } | { env: string } {
  const written = file.get(["hooks", sender, "secret"]) ?? file.get(["hooks", "senders", sender, "secret"]);
  if (typeof written === "object" && written !== null) {
    if ("file" in written && typeof written.file === "string")
      return { file: resolve(dirname(configFile), written.file) };
    if ("env" in written && typeof written.env === "string") return { env: written.env };
  }
  throw new CliError(`The secret of ${sender} must be one file or variable, where its renewal finds it.`);
}
