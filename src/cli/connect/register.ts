/** Registers webhooks at senders and deletes them there, with a record of each. */
import { isDeepStrictEqual } from "node:util";
import type { MappingConfig } from "../../config/mapping/schema.ts";
import { CliError } from "../errors.ts";
import { readToken, REGISTRARS, type TokenOptions, type WebhookConnection } from "./connection.ts";
import type { CliIo } from "../io.ts";
import type { Registered } from "./registrar.ts";
import type { KeptRegistration, Registrations } from "./registrations.ts";
import { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";

export interface Registering {
  readonly sender: string;
  readonly url: string;
  /** `undefined`: the sender makes it. */
  readonly secret: string | undefined;
  readonly kept: Registrations;
}

/** Registers the webhook, and keeps a record of it. Rejects with a {@link CliError}. */
export async function register(connection: WebhookConnection, registering: Registering): Promise<Registered> {
  const { registrar, base, token, place, events, replace } = connection;
  const { sender, url, secret, kept } = registering;
  const api = new SenderApi(registrar, { base, token, secrets: secret === undefined ? [] : [secret] });
  const before = kept.of(sender).findLast((each) => each.api === base && isDeepStrictEqual(each.place, place));
  const registered = await registrar.register(api, { url, secret, events, place, replace, before });
  try {
    kept.add({ sender, preset: registrar.preset, api: base, id: registered.id, place, url });
  } catch (error) {
    // Nothing here would know of it, and a secret that Stripe shows once would be lost.
    if (registered.isNew) await registrar.remove(api, { id: registered.id, place, url }).catch(() => {});
    throw error;
  }
  return registered;
}

/** Deletes at the sender what was registered a moment ago. Rejects with a {@link CliError}. */
export async function unregister(
  kept: KeptRegistration,
  token: string,
  registrations: Registrations,
): Promise<boolean> {
  const registrar = REGISTRARS.find(({ preset }) => preset === kept.preset);
  if (registrar === undefined) throw new CliError(`There is no way to delete webhooks of ${kept.preset}.`);
  const isDeleted = await registrar.remove(new SenderApi(registrar, { base: kept.api, token }), kept);
  registrations.delete(kept);
  return isDeleted;
}

/** The token with which webhooks are deleted; `undefined`: they stay. */
export async function tokenToRemove(
  kept: readonly KeptRegistration[],
  options: TokenOptions & { readonly json?: boolean },
  io: CliIo,
): Promise<string | undefined> {
  const registrar = REGISTRARS.find(({ preset }) => preset === kept[0]?.preset);
  if (registrar === undefined) return undefined;
  const question = `To delete the webhook, the token for ${registrar.title}: ${registrar.tokenKind} (Enter: leave the webhook there): `;
  return readToken(options, question, options.json === true ? { env: io.env } : io);
}

/** `the webhook 7 of acme/web`. */
export function nameOfKept({ preset, id, place }: KeptRegistration): string {
  if (place !== null) return `webhook ${id} of ${place.name}`;
  return preset === "stripe" ? `endpoint ${id}` : `webhook of the bot ${id}`;
}

/** The secret that the configuration has for a sender; the first of several. */
export function secretOf({ auth }: MappingConfig): string {
  const secret = auth !== undefined && "secrets" in auth ? auth.secrets[0] : undefined;
  if (secret === undefined) throw new CliError("The configuration has no secret for this sender.");
  return secret;
}
