/** `channels`: where replies can be delivered. */
import Type, { type Static } from "typebox";
import { flag, seconds, secrets, text, withDefault } from "../../../config/schema-parts.ts";
import { type EndpointContext, readSecret, requireUrl } from "./endpoint.ts";
import {
  CHANNEL_TIMEOUT_SECONDS,
  type OwnChannelConfig,
  OwnChannelSchema,
  readOwnChannel,
  timeoutMsOf,
} from "./own-channel.ts";

const WebhookChannel = Type.Object(
  {
    url: text({ description: "Where each message is posted to." }),
    secret: secrets("Signs each message by Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes."),
    to: Type.Optional(text({ description: "The recipient when neither call nor mapping names one." })),
    timeoutSeconds: withDefault(seconds(CHANNEL_TIMEOUT_SECONDS, "Within that time the receiver has to answer."), 30),
  },
  { additionalProperties: false, description: "The channel `webhook`: posts messages to a URL." },
);

export const ChannelsSchema = Type.Object(
  {
    console: Type.Optional(
      Type.Object(
        { enabled: withDefault(flag("Whether there is such a channel."), true) },
        {
          additionalProperties: false,
          description:
            "The channel `console`: keeps messages, to be read over the API, and prints them on the terminal.",
        },
      ),
    ),
    webhook: Type.Optional(WebhookChannel),
  },
  { additionalProperties: OwnChannelSchema, description: "Where replies can be delivered." },
);

type ChannelsFile = Static<typeof ChannelsSchema>;
type WebhookFile = Static<typeof WebhookChannel>;

export interface ChannelsConfig {
  readonly console: { readonly enabled: boolean };
  /** Absent when no URL is configured, or when its secret is missing. */
  readonly webhook: WebhookChannelConfig | undefined;
  /** By their names; without those whose secret is missing. */
  readonly own: ReadonlyMap<string, OwnChannelConfig>;
}

export interface WebhookChannelConfig {
  readonly url: string;
  /** `whsec_` and the base64 of 24 to 64 bytes (Standard Webhooks). */
  readonly secret: string;
  readonly defaultTo: string | undefined;
  readonly timeoutMs: number;
}

/** Reads one channel, or keeps what a missing secret leaves of it; `undefined`: it is set aside. */
export type KeepUsable = <Part>(read: () => Part, before: Part | undefined) => Part | undefined;

/** Reads the section; `before` are the channels that are active now. */
export function readChannels(
  written: ChannelsFile | undefined,
  context: EndpointContext,
  { keep, before }: { readonly keep: KeepUsable; readonly before: ChannelsConfig | undefined },
): ChannelsConfig {
  const { console, webhook, ...others } = written ?? {};
  const own = new Map<string, OwnChannelConfig>();
  for (const [id, channel] of Object.entries<Static<typeof OwnChannelSchema>>(others)) {
    const read = keep(() => readOwnChannel(id, channel, context), before?.own.get(id));
    if (read !== undefined) own.set(id, read);
  }
  return {
    console: { enabled: console?.enabled ?? true },
    webhook: webhook === undefined ? undefined : keep(() => readWebhook(webhook, context), before?.webhook),
    own,
  };
}

function readWebhook(written: WebhookFile, context: EndpointContext): WebhookChannelConfig {
  requireUrl(written.url, "channels.webhook.url", context);
  const secret = readSecret(written.secret, "channels.webhook.secret", context);
  if (secret !== undefined && !isSigningSecret(secret)) {
    context.findings.refuse(
      "channels.webhook.secret",
      'is not "whsec_" and the base64 of 24 to 64 bytes; make one with: echo whsec_$(openssl rand -base64 32)',
    );
  }
  return { url: written.url, secret: secret ?? "", defaultTo: written.to, timeoutMs: timeoutMsOf(written) };
}

function isSigningSecret(secret: string): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/u.exec(secret)?.[1];
  if (encoded === undefined) return false;
  const { length } = Buffer.from(encoded, "base64");
  return length >= 24 && length <= 64;
}
