import type { Handshake } from "../../config/handshake.ts";
import { type Answer, answerEmpty, type AnswerHeaders, answerJson, answerText } from "../../http/answer.ts";
import { splitPlaceholders } from "../value-source.ts";
import type { HandshakeCondition } from "./match.ts";
import { compileText, isChallenge, isHeaderEcho, type TextScope } from "./text.ts";
import { type HandshakeContext, type HandshakeRequest, type ReadText, settingValues } from "./context.ts";

/** A field name (RFC 9110, 5.1). */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/;
/** They say where an answer ends or the outcome of the connection, or set something in a browser. */
const RESERVED: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "keep-alive",
  "set-cookie",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** A challenge repeated as HTML would run scripts under the gateway's name. */
const HARMLESS_TYPE = /^(?:text\/plain|application\/(?:[\w.-]+\+)?json)(?:;[^{}]*)?$/i;

/** Makes the headers of an answer, lower-case names; `undefined` when a value is missing or no header may hold it. */
type ReadHeaders = (request: HandshakeRequest) => AnswerHeaders | undefined;

/** Compiles the headers of a reply; throws a TypeError for one that must not be set. */
function compileReplyHeaders(headers: Readonly<Record<string, string>>, scope: TextScope): ReadHeaders {
  const readers = Object.entries(headers).map(([written, value]) => {
    const name = written.toLowerCase();
    refuseHeader(name, value);
    return [name, compileText(value, { ...scope, accepts: isHeaderEcho })] as const;
  });
  return (request) => {
    const made: Record<string, string> = {};
    for (const [name, read] of readers) {
      const value = read(request);
      // A setting may hold anything.
      if (value === undefined || !PRINTABLE_ASCII.test(value)) return undefined;
      made[name] = value;
    }
    return made;
  };
}

function refuseHeader(name: string, value: string): void {
  if (!NAME.test(name) || name === "__proto__" || RESERVED.has(name)) {
    throw new TypeError(`its reply cannot set the header "${name}"`);
  }
  if (name === "content-type" && !HARMLESS_TYPE.test(value)) {
    throw new TypeError("its reply can be plain text or JSON only");
  }
  const literals = splitPlaceholders(value).filter((part) => typeof part === "string");
  if (!literals.every((literal) => PRINTABLE_ASCII.test(literal))) {
    throw new TypeError(`the header "${name}" of its reply holds characters that no header may hold`);
  }
}

type Json = NonNullable<Handshake["reply"]["json"]>;
type ReadJson = (request: HandshakeRequest) => unknown;

/** Makes the answer to a handshake; `undefined` when a value for it is missing or must not be repeated. */
export type MakeReply = (request: HandshakeRequest) => Answer | undefined;

/** Compiles the answer of a handshake; throws a TypeError for one that cannot be given or would reveal a secret. */
export function compileReply(
  handshake: Handshake,
  computed: ReadonlyMap<string, ReadText>,
  context: HandshakeContext,
): MakeReply {
  const { method, reply } = handshake;
  const { status, text, json, headers = {} } = reply;
  refuseDisclosure(handshake, context);
  if (text !== undefined && json !== undefined) throw new TypeError("its reply has both text and json");
  const hasContent = text !== undefined || json !== undefined;
  if (hasContent && (status === 204 || status === 205)) throw new TypeError(`an answer ${status} has no content`);

  const scope: TextScope = { settings: context.settings, publicUrl: context.publicUrl, computed, accepts: isChallenge };
  const readHeaders = compileReplyHeaders(headers, scope);
  const readText = compileText(text ?? "", scope);
  const readJson = compileJson(json ?? {}, scope);
  return (request) => {
    const own = readHeaders(request);
    if (own === undefined) return undefined;
    if (method === "HEAD" || !hasContent) return answerEmpty(status, own);
    if (json === undefined) return textAnswer(status, readText(request), own);
    const body = readJson(request);
    return body && answerJson(status, body, own);
  };
}

function textAnswer(status: number, text: string | undefined, headers: AnswerHeaders): Answer | undefined {
  return text === undefined ? undefined : answerText(status, text, headers);
}

function compileJson(json: Json, scope: TextScope): (request: HandshakeRequest) => object | undefined {
  const readers = Object.entries(json).map(([key, value]) => [key, compileJsonValue(value, scope)] as const);
  return (request) => {
    const entries = readers.map(([key, read]) => [key, read(request)] as const);
    return entries.every(([, value]) => value !== undefined) ? Object.fromEntries(entries) : undefined;
  };
}

function compileJsonValue(value: Json[string], scope: TextScope): ReadJson {
  if (typeof value === "string") return compileText(value, scope);
  if (!Array.isArray(value)) return () => value;
  const items = value.map((item) => compileJsonValue(item, scope));
  return (request) => {
    const list = items.map((read) => read(request));
    return list.includes(undefined) ? undefined : list;
  };
}

/**
 * Throws a TypeError for a reply that would reveal a secret: a setting that requests are compared with,
 * or one that has the value of a secret of the route. Computed values may be derived from either.
 */
function refuseDisclosure({ when = {}, reply }: Handshake, { secrets, settings }: HandshakeContext): void {
  const { text = "", json = {}, headers = {} } = reply;
  const compared = new Set(Object.values(when).map(comparedSetting));
  for (const written of [text, ...Object.values(json).flat(), ...Object.values(headers)]) {
    for (const name of settingsIn(String(written))) {
      const isSecret = settingValues(settings, name).some((value) => secrets.includes(value));
      if (isSecret || compared.has(name)) throw new TypeError(`its reply would reveal the secret setting "${name}"`);
    }
  }
}

function comparedSetting(condition: HandshakeCondition): string | undefined {
  return typeof condition === "object" && !Array.isArray(condition) ? condition.setting : undefined;
}

function settingsIn(text: string): readonly string[] {
  return splitPlaceholders(text).flatMap((part) =>
    typeof part === "object" && part.name === "setting" ? [part.argument] : [],
  );
}
