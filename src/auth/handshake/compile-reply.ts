import type { Handshake } from "../../config/handshake-schema.ts";
import { answerEmpty, answerJson, answerText } from "../../http/answer.ts";
import type { Answer, AnswerHeaders } from "../../http/answer.ts";
import { isChallenge } from "./challenge-forms.ts";
import type { HandshakeContext } from "./handshake-context.ts";
import { compileReplyHeaders } from "./compile-reply-headers.ts";
import { compileText } from "./compile-text.ts";
import type { TextScope } from "./compile-text.ts";
import type { HandshakeRequest, ReadText } from "./handshake-request.ts";
import { refuseDisclosure } from "./refuse-disclosure.ts";

type Json = NonNullable<Handshake["reply"]["json"]>;
type ReadJson = (request: HandshakeRequest) => unknown;

/** Makes the answer to a handshake; `undefined` when a value for it is missing or must not be repeated. */
export type MakeReply = (request: HandshakeRequest) => Answer | undefined;

/** Compiles the answer of a handshake; throws a TypeError for one that cannot be given or would tell a secret. */
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

  const scope: TextScope = { settings: context.settings, publicUrl: context.publicUrl, computed, takes: isChallenge };
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
