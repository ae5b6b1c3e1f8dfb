import { readMediaType } from "../../http/media-type.ts";
import { parseForm } from "../../http/parse-form.ts";
import type { IncomingRequest } from "../verifier.ts";

const CONFIRMATION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"] as const;

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: CONFIRMATION,
  UnsubscribeConfirmation: CONFIRMATION,
};

/**
 * The text that AWS SNS signs: `Key\nValue\n` for each signed field of the message. `undefined` when a
 * field is missing (only `Subject` may be) or is no text, or the type is unknown.
 * Source: docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS messages".
 */
export function snsText(payload: unknown): string | undefined {
  const type = field(payload, "Type");
  if (typeof type !== "string" || !Object.hasOwn(FIELDS, type)) return undefined;
  let text = "";
  for (const key of FIELDS[type]!) {
    const value = field(payload, key);
    if (key === "Subject" && value === undefined) continue;
    if (typeof value !== "string") return undefined;
    text += `${key}\n${value}\n`;
  }
  return text;
}

function field(payload: unknown, key: string): unknown {
  if (typeof payload !== "object" || payload === null || !Object.hasOwn(payload, key)) return undefined;
  return (payload as Readonly<Record<string, unknown>>)[key];
}

/** The escapes that HubSpot undoes before it signs a URL; all others stay. Source: developers.hubspot.com, v3. */
const DECODED: Readonly<Record<string, string>> = {
  "%3A": ":",
  "%2F": "/",
  "%3F": "?",
  "%40": "@",
  "%21": "!",
  "%24": "$",
  "%27": "'",
  "%28": "(",
  "%29": ")",
  "%2A": "*",
  "%2C": ",",
  "%3B": ";",
};

const ESCAPE = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi;

/** A URL as HubSpot signs it: twelve escapes, in any case, undone once. */
export function decodedUrl(url: string): string {
  return url.replace(ESCAPE, (escape) => DECODED[escape.toUpperCase()]!);
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };

const BASE = /^(https?:)\/\/([^/?#]*?)(?::([0-9]+))?([/?#].*)?$/i;

/**
 * The ways to write the start of a URL: as it is, and without its port or, when it has none, with the
 * default one of its protocol. Twilio signs either.
 */
export function urlVariants(url: string): readonly string[] {
  const parts = BASE.exec(url);
  if (parts === null) return [url];
  const [, protocol, host, port, rest = ""] = parts;
  const suffix = port === undefined ? `:${DEFAULT_PORTS[protocol!.toLowerCase()]}` : "";
  return [url, `${protocol}//${host}${suffix}${rest}`];
}

const MAX_FIELDS = 1_000;

/** True when a call says that its body is a form. */
export function isForm({ headers }: IncomingRequest): boolean {
  return readMediaType(headers["content-type"]).kind === "form";
}

/**
 * The fields of a form as Twilio signs them: name and value of each, sorted by name, the values of a
 * repeated name sorted and each of them once. Empty when the body is no form, `undefined` for one of more
 * than 1,000 fields: no one has proved to be the sender yet, and sorting costs most of all.
 */
export function formText(call: IncomingRequest): string | undefined {
  if (!isForm(call)) return "";
  const encoded = Buffer.from(call.body)
    .toString("utf8")
    .split("&", MAX_FIELDS + 1);
  if (encoded.length > MAX_FIELDS) return undefined;
  const fields = new Map<string, Set<string>>();
  for (const pair of encoded) {
    for (const [name, value] of Object.entries(parseForm(pair))) {
      const values = fields.get(name);
      if (values === undefined) fields.set(name, new Set([value]));
      else values.add(value);
    }
  }
  return [...fields.keys()]
    .toSorted(byCodeUnits)
    .flatMap((name) => [...fields.get(name)!].toSorted(byCodeUnits).map((value) => name + value))
    .join("");
}

function byCodeUnits(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
