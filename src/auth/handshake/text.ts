import { createHash, createHmac } from "node:crypto";
import type { Handshake } from "../../config/handshake.ts";
import type { PresetSettings } from "../../config/preset.ts";
import { compileSource, splitPlaceholders, type TextPart } from "../value-source.ts";
import { checkSource, type HandshakeContext, type HandshakeRequest, type ReadText, settingValues } from "./context.ts";

/** Controls of ASCII and Latin-1, and the two separators that some readers take for line ends. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const MAX_CHALLENGE = 2_048;

/** 1 to 2,048 characters, no control characters, no half of a character. */
export function isChallenge(value: string): boolean {
  return value.length > 0 && value.length <= MAX_CHALLENGE && !CONTROL.test(value) && value.isWellFormed();
}

const VISIBLE_ASCII = /^[\u0021-\u007e]{1,2048}$/;

/** Visible ASCII without a blank, so that no header can be smuggled in. */
export function isHeaderEcho(value: string): boolean {
  return VISIBLE_ASCII.test(value);
}

const TOKEN = /^[\w.~+/-]{1,256}={0,2}$/;

/**
 * A text that is signed for anyone who asks must not be an event.
 *
 * X and Smartcar sign the body of an event with the key that answers their challenge. Answering any
 * text would hand out signatures of events that an attacker invented; this form holds no JSON object, no
 * JSON list and no form field with a value.
 */
function isToken(value: string): boolean {
  return TOKEN.test(value);
}

const TOKEN_END = /^[\w.~+/-]{0,256}={0,2}$/;
const MAX_TOKEN_BYTES = 258;

/** True when a body could be the end of a text that {@link isToken} lets be signed; the empty one could. */
export function isTokenEnd(body: Uint8Array): boolean {
  return body.length <= MAX_TOKEN_BYTES && TOKEN_END.test(Buffer.from(body).toString("latin1"));
}

const KEY = /^[\u0021-\u007e]{16,512}$/;

/** A key that a sender delivers: long enough to be one. */
export function isDeliverableKey(value: string): boolean {
  return KEY.test(value);
}

/** The values of the placeholders of a text. */
export interface TextScope {
  readonly settings: PresetSettings;
  readonly publicUrl: string | undefined;
  readonly computed: ReadonlyMap<string, ReadText>;
  /** True when a value of the request may be in the text. */
  readonly accepts: (value: string) => boolean;
}

/** Compiles a text with placeholders; throws a TypeError for one that is not known. */
export function compileText(text: string, scope: TextScope): ReadText {
  const readers = splitPlaceholders(text).map((part) => compilePart(part, scope));
  return (request) => {
    let written = "";
    for (const read of readers) {
      const value = read(request);
      if (value === undefined) return undefined;
      written += value;
    }
    return written;
  };
}

function compilePart(part: TextPart, scope: TextScope): ReadText {
  if (typeof part === "string") return () => part;
  const { name, argument } = part;
  const placeholder = `{${name}${argument === "" ? "" : `:${argument}`}}`;
  switch (name) {
    case "header":
    case "query":
    case "body": {
      const source = `${name}:${argument}`;
      checkSource(source);
      const read = compileSource(source);
      return limited(({ view }) => read(view), scope);
    }
    case "url": {
      const { publicUrl } = scope;
      return publicUrl === undefined ? () => undefined : limited(({ call }) => publicUrl + pathOf(call.target), scope);
    }
    case "setting": {
      if (argument === "") throw new TypeError(`${placeholder} names no setting`);
      const [value] = settingValues(scope.settings, argument);
      return () => value;
    }
    case "computed": {
      const read = scope.computed.get(argument);
      if (read === undefined) throw new TypeError(`${placeholder} is not among what is computed`);
      return read;
    }
    default:
      throw new TypeError(`${placeholder} is not known`);
  }
}

function limited(read: (request: HandshakeRequest) => string | undefined, { accepts: takes }: TextScope): ReadText {
  return (request) => {
    const value = read(request);
    return value !== undefined && takes(value) ? value : undefined;
  };
}

function pathOf(target: string): string {
  const mark = target.indexOf("?");
  return mark === -1 ? target : target.slice(0, mark);
}

type Computed = NonNullable<Handshake["computed"]>[string];

/**
 * Compiles the values that a handshake computes, by name.
 *
 * X, LinkedIn and Smartcar ask for an HMAC of a challenge that nothing signs; Zoom signs its own. An
 * unsigned challenge has to look like a token, see {@link isToken}.
 */
export function compileComputed(handshake: Handshake, context: HandshakeContext): ReadonlyMap<string, ReadText> {
  const compiled = Object.entries(handshake.computed ?? {}).map(
    ([name, computed]) => [name, compileOne(computed, handshake.verified, context)] as const,
  );
  return new Map(compiled);
}

function compileOne({ algorithm, encoding, of }: Computed, verified: boolean, context: HandshakeContext): ReadText {
  if (typeof of !== "string" || of === "")
    throw new TypeError("a computed value does not say what it is computed from");
  const isSigned = algorithm === "hmac-sha256";
  const read = compileText(of, {
    settings: context.settings,
    publicUrl: context.publicUrl,
    computed: new Map(),
    accepts: isSigned && !verified ? isToken : isChallenge,
  });
  return (request) => {
    const text = read(request);
    if (text === undefined) return undefined;
    if (!isSigned) return createHash("sha256").update(text).digest(encoding);
    const key = keyOf(context);
    return key === undefined ? undefined : createHmac("sha256", key).update(text).digest(encoding);
  };
}

/** A key delivered by the sender may come long after the configuration was loaded. */
function keyOf({ secrets, deliveredKeys, route }: HandshakeContext): string | undefined {
  const key = secrets[0] ?? deliveredKeys.get(route);
  return key === "" ? undefined : key;
}
