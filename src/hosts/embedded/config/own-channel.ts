/** `channels.<name>`: a channel of the owner, to a platform, a mailbox or anything that takes an HTTP request. */
import Type, { type Static } from "typebox";
import { flag, seconds, secrets, text, whole, withDefault } from "../../../config/schema-parts.ts";
import { closestKey, showKeyPath, showNames, showValue } from "../../../config/show-value.ts";
import { type EmailChannelConfig, isMailAddress } from "../channels/email.ts";
import { type HttpChannelConfig, unknownPlaceholders, urlProblem } from "../channels/http.ts";
import {
  DEFAULT_HTTP_CHANNEL,
  HTTP_CHANNEL_PRESETS,
  type HttpChannelData,
  type HttpChannelPreset,
  TEXT_FORMATS,
} from "../channels/http-presets.ts";
import { type EndpointContext, readHeaders, readSecret } from "./endpoint.ts";

const DEFAULT_TIMEOUT_SECONDS = 30;
export const CHANNEL_TIMEOUT_SECONDS = { minimum: 0.1, maximum: 600 };
const MAX_CHARS = { minimum: 200, maximum: 1_000_000 };
const MAIL_PORT = 587;
const MAIL_TLS_PORT = 465;
const MAIL_CHARS = 100_000;

export const OwnChannelSchema = Type.Object(
  {
    kind: Type.Optional(
      Type.Enum(["http", "email"], {
        description: "`http`: each message is an HTTP request. `email`: each message is a mail. Absent: `http`.",
      }),
    ),
    preset: Type.Optional(
      text({
        description: `The platform, whose requests are known: ${Object.keys(HTTP_CHANNEL_PRESETS)
          .map((name) => `\`${name}\``)
          .join(", ")}. The other keys override what it says.`,
      }),
    ),
    to: Type.Optional(text({ description: "The recipient when neither call nor mapping names one." })),
    secret: Type.Optional(
      secrets("The token of the platform, as `{{secret}}` in the templates; the password of the mail server."),
    ),
    url: Type.Optional(secrets("Where each message is sent to; a template whose host has no placeholder.")),
    method: Type.Optional(Type.Enum(["POST", "PUT"], { description: "Method of the request. Absent: `POST`." })),
    query: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "Added to the URL; templates." })),
    headers: Type.Optional(
      Type.Record(Type.String(), secrets("Value of the header; a template."), {
        description: "Headers of the request. One with `{{secret}}` is left out when there is no secret.",
      }),
    ),
    json: Type.Optional(
      Type.Unknown({
        description:
          "The body as JSON; its texts are templates. A key whose text is one placeholder without a value is left out.",
      }),
    ),
    body: Type.Optional(text({ description: "The body as text, a template, in place of `json`." })),
    format: Type.Optional(
      Type.Enum([...TEXT_FORMATS], {
        description:
          "How the text, which is markdown, is written: as it is, as the HTML of Telegram and Pushover, as the mrkdwn of Slack and Google Chat, or without marks. Absent: `markdown`.",
      }),
    ),
    maxChars: Type.Optional(
      whole(
        MAX_CHARS,
        "Characters of one message as it is sent, bytes for `teams` and `ntfy`; a longer text is sent in parts, cut at paragraphs where it can be.",
      ),
    ),
    ok: Type.Optional(
      text({ description: "Path in the JSON answer that is true when the message was taken. Absent: any 2xx." }),
    ),
    problem: Type.Optional(
      text({ description: "Path in the JSON answer of the problem, for the reason of a failure." }),
    ),
    retryAfter: Type.Optional(
      text({ description: "Path in the JSON answer of the seconds to wait; the header `Retry-After` goes before it." }),
    ),
    timeoutSeconds: withDefault(seconds(CHANNEL_TIMEOUT_SECONDS, "Within that time the platform has to answer."), 30),
    smtp: Type.Optional(
      Type.Object(
        {
          host: text({ description: "The mail server." }),
          port: Type.Optional(whole({ minimum: 1, maximum: 65_535 }, "Its port. Absent: 587, or 465 with `tls`.")),
          tls: withDefault(
            flag("Begins with TLS. Otherwise the connection has to be upgraded (STARTTLS), except on loopback."),
            false,
          ),
          user: Type.Optional(text({ description: "Signs in with this name and the channel's `secret`." })),
        },
        { additionalProperties: false, description: "Where mails are handed in, for the kind `email`." },
      ),
    ),
    from: Type.Optional(text({ description: "Sender of the mails, an address." })),
    subject: Type.Optional(
      text({ description: "Subject of the mails. Absent: `Message from your agent`.", pattern: "^[^\\r\\n]*$" }),
    ),
  },
  { additionalProperties: false, description: "A channel by a name of your own." },
);

type OwnFile = Static<typeof OwnChannelSchema>;

export type OwnChannelConfig = (HttpChannelConfig | EmailChannelConfig) & { readonly defaultTo: string | undefined };

/** A name is an id in lists and commands, and a part of keys. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/u;
const HTTP_KEYS = [
  "preset",
  "url",
  "method",
  "query",
  "headers",
  "json",
  "body",
  "format",
  "ok",
  "problem",
  "retryAfter",
] as const;
const EMAIL_KEYS = ["smtp", "from", "subject"] as const;

/** Reads one channel; what is wrong goes to the findings. */
export function readOwnChannel(id: string, written: OwnFile, context: EndpointContext): OwnChannelConfig {
  const { findings } = context;
  const where = showKeyPath(["channels", id]);
  if (!NAME.test(id) || id === "last") {
    findings.refuse(where, 'is no name of a channel: lower-case letters, digits, ".", "_" and "-", and not "last"');
  }
  const isEmail = written.kind === "email";
  for (const key of isEmail ? HTTP_KEYS : EMAIL_KEYS) {
    if (written[key] === undefined) continue;
    findings.refuse(`${where}.${key}`, `has no effect for the kind ${isEmail ? "email" : "http"}; leave it out`);
  }
  const secret = written.secret === undefined ? undefined : readSecret(written.secret, `${where}.secret`, context);
  return isEmail ? readEmail(written, where, { secret, context }) : readHttp(written, where, { secret, context });
}

interface ReadParts {
  readonly secret: string | undefined;
  readonly context: EndpointContext;
}

function readEmail(
  { smtp, from, subject = "Message from your agent", to, maxChars = MAIL_CHARS, ...rest }: OwnFile,
  where: string,
  { secret, context: { findings } }: ReadParts,
): OwnChannelConfig {
  if (smtp === undefined)
    findings.refuse(`${where}.smtp`, 'is required; write for example { host: "smtp.example.com" }');
  if (from === undefined || !isMailAddress(from)) {
    findings.refuse(`${where}.from`, 'must be a mail address, such as "agent@example.com"');
  }
  if (to !== undefined && !isMailAddress(to)) findings.refuse(`${where}.to`, "is not a mail address");
  if ((smtp?.user === undefined) !== (secret === undefined) && rest.secret === undefined) {
    findings.refuse(`${where}.secret`, "is required with smtp.user; it is the password");
  }
  if (smtp !== undefined && smtp.user === undefined && rest.secret !== undefined) {
    findings.warn(`${where}.secret`, "has no effect without smtp.user, the name to sign in with");
  }
  const { host = "", port, tls = false, user } = smtp ?? {};
  return {
    kind: "email",
    host,
    port: port ?? (tls ? MAIL_TLS_PORT : MAIL_PORT),
    isTls: tls,
    user,
    secret,
    from: from ?? "",
    subject,
    maxChars,
    timeoutMs: timeoutMsOf(rest),
    defaultTo: to,
  };
}

function readHttp(written: OwnFile, where: string, { secret, context }: ReadParts): OwnChannelConfig {
  const { findings } = context;
  const preset = readPreset(written.preset, where, context);
  for (const key of preset?.needs ?? []) {
    if (written[key] === undefined) findings.refuse(`${where}.${key}`, `is required by the preset ${written.preset}`);
  }
  const url = written.url === undefined ? preset?.url : readSecret(written.url, `${where}.url`, context);
  if (url === undefined && written.url === undefined && preset === undefined) {
    findings.refuse(`${where}.url`, "is required, or a preset");
  }
  const problem = url === undefined ? undefined : urlProblem(url);
  if (problem !== undefined) findings.refuse(`${where}.url`, problem);
  if (written.json !== undefined && written.body !== undefined) {
    findings.refuse(`${where}.body`, "goes without json; leave one of them out");
  }
  const headers = readHeaders(written.headers ?? {}, [where, "headers"], context);
  const data: HttpChannelData = {
    ...DEFAULT_HTTP_CHANNEL,
    url: url ?? "",
    ...withoutUndefined(preset ?? {}),
    ...withoutUndefined(ownData(written)),
    headers: { ...preset?.headers, ...headers },
    ...(url === undefined ? {} : { url }),
    ...(written.body === undefined ? {} : { json: undefined }),
  };
  refusePlaceholders(data, where, context);
  const hidden = [secret, written.url === undefined ? undefined : url, ...Object.values(headers)];
  return {
    ...data,
    kind: "http",
    secret,
    hidden: hidden.filter((text): text is string => text !== undefined && text.length >= MIN_HIDDEN_CHARS),
    timeoutMs: timeoutMsOf(written),
    defaultTo: written.to,
  };
}

/** Shorter texts are words of the answer itself. */
const MIN_HIDDEN_CHARS = 6;

function ownData({ method, query, json, body, format, maxChars, ok, problem, retryAfter }: OwnFile): object {
  return { method, query, json, body, format, maxChars, ok, problem, retryAfter };
}

function withoutUndefined(data: object): Partial<HttpChannelData> {
  return Object.fromEntries(Object.entries(data).filter(([key, value]) => value !== undefined && key !== "needs"));
}

function readPreset(
  name: string | undefined,
  where: string,
  { findings }: EndpointContext,
): HttpChannelPreset | undefined {
  if (name === undefined) return undefined;
  if (Object.hasOwn(HTTP_CHANNEL_PRESETS, name)) return HTTP_CHANNEL_PRESETS[name];
  const known = Object.keys(HTTP_CHANNEL_PRESETS);
  const closest = closestKey(name, known);
  const hint = closest === undefined ? `known are ${showNames(known)}` : `did you mean "${closest}"?`;
  findings.refuse(`${where}.preset`, `${showValue(name)} is not a preset of a channel; ${hint}`);
  return undefined;
}

function refusePlaceholders(data: HttpChannelData, where: string, { findings }: EndpointContext): void {
  for (const key of ["url", "query", "headers", "json", "body"] as const) {
    for (const name of unknownPlaceholders(JSON.stringify(data[key] ?? ""))) {
      findings.refuse(`${where}.${key}`, `has {{${name}}}, which there is not; see docs/use/channels.md`);
    }
  }
}

export function timeoutMsOf({
  timeoutSeconds = DEFAULT_TIMEOUT_SECONDS,
}: {
  readonly timeoutSeconds?: number;
}): number {
  return Math.round(timeoutSeconds * 1_000);
}
