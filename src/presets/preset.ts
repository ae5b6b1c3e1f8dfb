/** A preset: the bundle that knows how a sender signs, what it sends, and what people want to read of it. */
import type { AuthInput } from "../config/auth/schema.ts";
import type { PresetPart, PresetSettings } from "../config/preset.ts";
import type { TextKind } from "../core/boundary/remove-hidden.ts";
import type { EventActor, EventAuthor, EventObject, Level, PayloadContext, PayloadFormat } from "../core/delivery.ts";

/** The scheme of a preset's sender, in a few words for lists: `HMAC-SHA256 in x-hub-signature-256`. */
export function schemeName(preset: Preset): string {
  const auth = authWithoutSettings(preset);
  if (auth === undefined) return "as its settings say";
  const from = auth.from === undefined ? "" : [auth.from].flat()[0]!;
  switch (auth.scheme) {
    case "token":
      return "hook token";
    case "secret":
      return `shared secret in ${placeName(from === "" ? "header:authorization" : from)}`;
    case "basic":
      return "user name and password (Basic)";
    case "jwt":
      if (auth.algorithm === undefined) return "token of an identity provider (JWT)";
      return `JWT${auth.bodyDigest ? " over the digest of the body" : ""} in ${placeName(from || "header:authorization")}`;
    default:
      return `${algorithmName(auth)} in ${placeName(from)}`;
  }
}

/** Settings that are not there print nothing; no built-in preset's scheme changes with them. */
function authWithoutSettings(preset: Preset): AuthInput | undefined {
  try {
    return preset.auth(Object.freeze({}));
  } catch {
    return undefined;
  }
}

function algorithmName({ algorithm = "hmac-sha256", certificate }: AuthInput): string {
  const name = typeof algorithm === "string" ? algorithm : (Object.values(algorithm.values).at(-1) ?? "");
  return `${name.replace("ed25519", "Ed25519").replace(/^[a-z]+(?=-)|sha/gu, (word) => word.toUpperCase())}${certificate ? " by certificate" : ""}`;
}

function placeName(source: string): string {
  if (source === "path") return "the path";
  const [kind = "", name = ""] = source.split(/:(.*)/u);
  if (kind === "header") return name;
  return kind === "query" ? `the query parameter ${name}` : `the body's ${name}`;
}

/** A preset as `definePreset` makes it; the registry takes no other. */
export interface Preset extends PresetPart {
  /** The sender's own page about its webhooks. */
  readonly documentation: string;
  /** The steps in the sender's settings; `{url}` is the URL to paste, `{secret}` the secret's label. */
  readonly setup: readonly string[];
  /** The source of the delivery's id, in words for the table of senders. */
  readonly deliveryIdSource: string | undefined;
  /** True when the delivery id is covered by the signature. */
  readonly deliveryIdSigned: boolean;
  /** What people see of its texts; absent: as of HTML. */
  readonly text: TextKind | undefined;
  /** What the actor wrote in this event; `undefined`: it may be anywhere in the body. */
  written(context: PresetContext): string | undefined;
  /** The event's name: `pull_request.opened`; `undefined` when the payload has none. */
  eventOf(context: PresetContext): string | undefined;
  /** The sender's id for this delivery, the same when it tries again. */
  deliveryIdOf(context: PresetContext): string | undefined;
  /** The actor of the event. */
  senderOf(context: PresetContext): EventActor | undefined;
  /** Those whose text the event carries, besides the actor. */
  authorsOf(context: PresetContext): readonly EventAuthor[];
  /** Makes the payload what it means: JSON out of a form field, data out of base64. Throws nothing. */
  unwrap(payload: unknown): unknown;
  /** What an event is about: one that is held, and one that approves. */
  readonly objects: PresetObjects | undefined;
  /** Levels of the roles that its actors have, where a mapping does not say. */
  readonly roles: Readonly<Record<string, Level>>;
  /** Why there is nothing for an agent in it (a ping, a test); `undefined` otherwise. */
  skip(event: PresetEvent): string | undefined;
  /** The text for a person; empty when the mapping's own template says it. */
  message(event: PresetEvent): string;
  /** A person's message to the agent in a private chat; `undefined` for all else. */
  chat(event: PresetEvent): ChatMessage | undefined;
  /** The answer that the sender needs; `undefined`: the ordinary one. */
  answer(event: PresetEvent): PresetAnswer | undefined;
  /** The answer that the sender takes as success, for the page of senders. */
  readonly success: SenderSuccess | undefined;
  /** Events that wake no agent by default, for the page of senders. */
  readonly ignored: string | undefined;
  /** By name, as the sender would post them; at least one. */
  readonly samples: Readonly<Record<string, PresetSample>>;
}

/** A parsed request, and what the operator set for this preset. */
export interface PresetContext extends PayloadContext {
  readonly settings: PresetSettings;
}

/** A request whose event has been found. */
export interface PresetEvent extends PresetContext {
  readonly event: string | undefined;
}

export type { EventActor, EventAuthor, EventObject } from "../core/delivery.ts";

/** Reads what an event is about, out of what the sender signs; `undefined`: nothing that can be approved. */
export interface PresetObjects {
  /** What would begin a run: a comment is an object of its own. */
  held(context: PresetContext): EventObject | undefined;
  /** What someone approves by the event: a comment approves the issue that it is under. */
  approved(context: PresetContext): EventObject | undefined;
}

/** What a person wrote to the agent in a private chat, every word of it that person's own. */
export interface ChatMessage {
  /** The platform's id of the person: never a name, which anyone can take. */
  readonly from: string;
  /** The recipient of an answer, as the platform's channel takes it. */
  readonly to: string;
  readonly text: string;
}

/** An answer instead of the ordinary one, once the delivery is on disk. */
export interface PresetAnswer {
  /** 200 to 204. */
  readonly status: number;
  readonly contentType?: string;
  readonly body?: string;
}

/** The answers that a sender takes as success, and what it does after any other; in words. */
export interface SenderSuccess {
  /** `2xx, within 5 seconds`. */
  readonly statuses: string;
  /** `tries again for 24 hours`. */
  readonly otherwise: string;
}

/** A request as the sender makes it, without its signature. */
export interface PresetSample {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** `json` when absent. */
  readonly format?: PayloadFormat;
  /** The value that is sent as JSON; for `form` an object of strings; for `multipart` of strings and {@link SampleFile}s; for `text` a string. */
  readonly payload: unknown;
}

/** A file in a sample of a form in parts. */
export interface SampleFile {
  readonly filename: string;
  readonly type: string;
  readonly content: string;
}

/** The bytes that a sample is sent as, and their content type. */
export function sampleBody({ format = "json", payload, headers = {} }: PresetSample): {
  readonly body: Uint8Array;
  readonly contentType: string;
} {
  const written = headers["content-type"];
  if (format === "text") return { body: Buffer.from(String(payload)), contentType: written ?? "text/plain" };
  if (format === "json")
    return { body: Buffer.from(JSON.stringify(payload)), contentType: written ?? "application/json" };
  if (format === "multipart") return multipartBody(payload as Parameters<typeof multipartBody>[0]);
  const form = new URLSearchParams(payload as Record<string, string>).toString();
  return { body: Buffer.from(form), contentType: written ?? "application/x-www-form-urlencoded" };
}

const BOUNDARY = "xYzZY";

function multipartBody(fields: Readonly<Record<string, string | SampleFile>>): ReturnType<typeof sampleBody> {
  const parts = Object.entries(fields).map(([name, value]) => {
    const disposition = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`;
    if (typeof value === "string") return `${disposition}\r\n\r\n${value}\r\n`;
    return `${disposition}; filename="${value.filename}"\r\nContent-Type: ${value.type}\r\n\r\n${value.content}\r\n`;
  });
  return {
    body: Buffer.from(`${parts.join("")}--${BOUNDARY}--\r\n`),
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
  };
}
