/** Access tokens by OAuth 2.0, from credentials in a file of the owner. */
import { readFileSync, statSync } from "node:fs";
import Type, { type Static } from "typebox";
import { Check } from "typebox/schema";
import { textAt } from "../../../core/payload-text.ts";
import { SenderApiError } from "../errors.ts";
import { SenderApi } from "./sender-api.ts";
import type { SubscriptionKind } from "./subscription.ts";
import { writePrivateFileSync } from "../../../auth/keys/private-file.ts";

const text = Type.String({ minLength: 1, maxLength: 8_192 });

/** As `gcloud auth application-default login` writes it; Microsoft's has a `tenant` besides. */
const CredentialsSchema = Type.Object({
  client_id: text,
  client_secret: text,
  refresh_token: Type.Optional(text),
  tenant: Type.Optional(Type.String({ pattern: "^[\\w.-]{1,200}$" })),
});

type Credentials = Static<typeof CredentialsSchema>;

const MAX_BYTES = 65_536;

/** Throws a {@link SenderApiError} for a file that others can read, or that is none. */
export function readCredentials(file: string): Credentials {
  let content: unknown;
  try {
    const { mode, size } = statSync(file);
    if ((mode & 0o077) !== 0) throw new SenderApiError(`Others can read ${file}: chmod 600 ${file}`);
    content = size > MAX_BYTES ? undefined : JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SenderApiError) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : "it is not JSON";
    throw new SenderApiError(`The credentials in ${file} cannot be read (${code}).`);
  }
  if (!isCredentials(content)) {
    throw new SenderApiError(
      `${file} must be JSON with client_id, client_secret and, for a person's account, refresh_token.`,
    );
  }
  return content;
}

function isCredentials(content: unknown): content is Credentials {
  return Check(CredentialsSchema, content);
}

export interface TokenSource {
  /** Absolute. */
  readonly credentials: string;
  /** With `{tenant}` where the credentials have one. */
  readonly tokenUrl: string;
  readonly signal?: AbortSignal | undefined;
}

/** Rejects with a {@link SenderApiError}. A refresh token that takes the place of the one before is written back. */
export async function accessToken(
  kind: SubscriptionKind,
  { credentials: file, tokenUrl, signal }: TokenSource,
): Promise<string> {
  const credentials = readCredentials(file);
  const { client_id: id, client_secret: secret, refresh_token: refresh, tenant = "common" } = credentials;
  const url = new URL(tokenUrl.replace("{tenant}", encodeURIComponent(tenant)));
  const facts = { ...kind, title: `${kind.title}'s sign-in`, tokenKind: `as ${file} says`, headersOf: () => ({}) };
  const secrets = [secret, ...(refresh === undefined ? [] : [refresh])];
  const api = new SenderApi(facts, { base: url.origin, token: "", secrets, signal });
  const grant: Readonly<Record<string, string>> =
    refresh === undefined
      ? { grant_type: "client_credentials", ...(kind.scope === undefined ? {} : { scope: kind.scope }) }
      : { grant_type: "refresh_token", refresh_token: refresh };
  const form = new URLSearchParams({ client_id: id, client_secret: secret, ...grant });
  const { body } = await api.call({ method: "POST", path: url.pathname, body: form, act: "give an access token" });
  const next = textAt(body, "refresh_token");
  // Longer than a text of a payload may be.
  const token = (body as { readonly access_token?: unknown } | undefined)?.access_token;
  if (typeof token !== "string" || !/^[\u0021-\u007E]{1,16384}$/u.test(token)) {
    throw new SenderApiError(`${facts.title} answered without an access token.`);
  }
  if (refresh !== undefined && next !== "" && next !== refresh) keep(file, { ...credentials, refresh_token: next });
  return token;
}

function keep(file: string, credentials: Credentials): void {
  const known = JSON.parse(readFileSync(file, "utf8")) as object;
  writePrivateFileSync(file, `${JSON.stringify({ ...known, ...credentials }, undefined, 2)}\n`);
}
