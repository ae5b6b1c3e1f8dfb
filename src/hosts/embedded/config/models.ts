/** The sections `models` and `channels`: what the gateway calls, with which secrets. */
import { type EndpointContext, readHeaders, readSecret, requireUrl } from "./endpoint.ts";
import type { ChannelsConfig, ModelsConfig, ProviderConfig, WebhookChannelConfig } from "./file.ts";
import type { GatewayFile } from "./schema.ts";
import { showKeyPath } from "../../../config/show-value.ts";

type WebhookFile = NonNullable<NonNullable<GatewayFile["channels"]>["webhook"]>;

interface Context extends EndpointContext {
  /** Present: a part whose secret is missing keeps its version in the configuration active now, or is set aside. */
  readonly setAside: SetAsideParts | undefined;
}

/** The models and channels active now; `undefined` at a start. */
export interface SetAsideParts {
  readonly before: { readonly models: ModelsConfig; readonly channels: ChannelsConfig } | undefined;
}

const defaultTimeoutSeconds = 30;

/** Reads the section `models`. */
export function readModels(written: GatewayFile["models"], context: Context): ModelsConfig {
  const providers = new Map<string, ProviderConfig>();
  for (const [id, provider] of Object.entries(written?.providers ?? {})) {
    const where = ["models", "providers", id];
    if (!/^[^/\s]+$/u.test(id)) {
      context.findings.refuse(showKeyPath(where), "the name of a provider has no slashes and no spaces");
    }
    requireUrl(provider.baseUrl, showKeyPath([...where, "baseUrl"]), context);
    const found = context.findings.issues.length;
    const read: ProviderConfig = {
      baseUrl: provider.baseUrl,
      apiKey:
        provider.apiKey === undefined
          ? undefined
          : readSecret(provider.apiKey, showKeyPath([...where, "apiKey"]), context),
      headers: readHeaders(provider.headers ?? {}, [...where, "headers"], context),
    };
    const before = context.setAside?.before?.models.providers.get(id);
    const isKept = before !== undefined && before.broken === undefined;
    const missing = missingSecret(found, context, isKept ? KEPT : "its agents' runs wait until it can be read");
    if (missing === undefined) providers.set(id, read);
    else providers.set(id, isKept ? before : { ...read, broken: missing });
  }
  return { providers };
}

/** Reads the section `channels`. */
export function readChannels(written: GatewayFile["channels"], context: Context): ChannelsConfig {
  return {
    console: { enabled: written?.console?.enabled ?? true },
    webhook: written?.webhook === undefined ? undefined : readUsableWebhook(written.webhook, context),
  };
}

function readUsableWebhook(written: WebhookFile, context: Context): WebhookChannelConfig | undefined {
  const found = context.findings.issues.length;
  const webhook = readWebhook(written, context);
  const before = context.setAside?.before?.channels.webhook;
  const outcome = before === undefined ? "the channel is set aside" : KEPT;
  return missingSecret(found, context, outcome) === undefined ? webhook : before;
}

const KEPT = "the version before stays active for this part";

/** Makes a warning of each missing secret that was found from the issue `from` on; gives the first one. */
function missingSecret(from: number, { findings, setAside }: Context, outcome: string): string | undefined {
  if (setAside === undefined) return undefined;
  const found = findings.issues.splice(from);
  const missing = found.filter(({ isReference }) => isReference === true);
  findings.issues.push(...found.filter((issue) => !missing.includes(issue)));
  for (const { path, message } of missing) findings.warn(path, `${message}; ${outcome}`);
  return missing[0] && `${missing[0].path}: ${missing[0].message}`;
}

function readWebhook(written: WebhookFile, context: Context): WebhookChannelConfig {
  requireUrl(written.url, "channels.webhook.url", context);
  const secret = readSecret(written.secret, "channels.webhook.secret", context);
  if (secret !== undefined && !isSigningSecret(secret)) {
    context.findings.refuse(
      "channels.webhook.secret",
      'is not "whsec_" and the base64 of 24 to 64 bytes; make one with: echo whsec_$(openssl rand -base64 32)',
    );
  }
  return {
    url: written.url,
    secret: secret ?? "",
    defaultTo: written.to,
    timeoutMs: Math.round((written.timeoutSeconds ?? defaultTimeoutSeconds) * 1_000),
  };
}

function isSigningSecret(secret: string): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/u.exec(secret)?.[1];
  if (encoded === undefined) return false;
  const { length } = Buffer.from(encoded, "base64");
  return length >= 24 && length <= 64;
}
