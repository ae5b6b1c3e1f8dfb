/** A channel as data: each message is one HTTP request, whose parts are templates. */
import { HostError } from "../../../core/host.ts";
import { compilePath, lookup } from "../../../core/payload-path.ts";
import { reasonOf } from "../../../core/reason-of.ts";
import type { HttpChannelData } from "./http-presets.ts";
import { formatMarkdown } from "./markdown.ts";
import { isRetryableStatus, type MessagePart, type PartSender, requestFailure, timedSignal } from "./message-part.ts";

export interface HttpChannelConfig extends HttpChannelData {
  readonly kind: "http";
  /** Of the configuration; it is never shown. */
  readonly secret: string | undefined;
  /** The secrets among its texts: no error shows them. */
  readonly hidden: readonly string[];
  readonly timeoutMs: number;
}

/** The words of a template; `id` is the same for every try of a message. */
const PLACEHOLDERS = ["to", "text", "id", "threadId", "channel", "secret", "mark"] as const;
type Values = Readonly<Record<(typeof PLACEHOLDERS)[number], string>>;

const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}/gu;
const SINGLE = /^\{\{\s*(\w+)\s*\}\}$/u;
/** Of an answer, to find out whether the message was taken: some platforms repeat the text in it. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_PROBLEM_CHARS = 300;
/** A platform that asks for a longer pause is asked again by then. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The placeholders of a template that there are none of. */
export function unknownPlaceholders(template: string): readonly string[] {
  const known: readonly string[] = PLACEHOLDERS;
  return Array.from(template.matchAll(PLACEHOLDER), ([, name]) => name!).filter((name) => !known.includes(name));
}

/** True when a part of the channel names the recipient; otherwise its URL says where messages go. */
export function namesRecipient({ url, query, headers, json, body }: HttpChannelData): boolean {
  return /\{\{\s*to\s*\}\}/u.test(JSON.stringify([url, query, headers, json, body]));
}

/** Sends the parts of messages on one channel. */
export function httpSender(config: HttpChannelConfig): PartSender {
  return async (part, signal) => {
    const { channel, to, text, id, threadId, mark = "" } = part;
    const values: Values = {
      channel,
      to,
      id,
      text: formatMarkdown(text, config.format),
      mark,
      threadId: threadId === undefined ? "" : String(threadId),
      secret: config.secret ?? "",
    };
    const request = makeRequest(config, values, part);
    const answer = await exchange(config, part, { request, signal });
    const problem = refusalIn(config, answer);
    if (problem === undefined) return;
    const { status } = answer;
    const retryable = isRetryableStatus(status) || passesLater(config, answer);
    const retryAfterMs = retryable ? retryAfterOf(config, answer) : undefined;
    throw new HostError(`The channel ${channel} did not take the message: ${problem}.`, {
      retryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** `undefined` when it is no JSON. */
  readonly json: unknown;
  /** True when only its beginning was read. */
  readonly isCut: boolean;
}

/** A part of a path; a colon needs no escape there, and the token of a Telegram bot has one. */
function encodePart(text: string): string {
  // A URL reads it as a step in its path, however it is written.
  if (text === "." || text === "..") throw new Error("a value in its url is no part of a path");
  return encodeURIComponent(text).replaceAll("%3A", ":");
}

/** A recipient or a text that no request can carry, such as a line end in a header, is refused for good. */
function makeRequest(config: HttpChannelConfig, values: Values, part: MessagePart): Request {
  try {
    return requestOf(config, values, part);
  } catch {
    // The error would show the value.
    throw new HostError(`The channel ${part.channel} cannot carry the message: its url or a header cannot hold it.`, {
      retryable: false,
    });
  }
}

function requestOf(config: HttpChannelConfig, values: Values, { traceparent }: MessagePart): Request {
  const url = new URL(fill(config.url, values, encodePart));
  for (const [name, template] of Object.entries(config.query)) {
    const value = fill(template, values);
    if (value !== "") url.searchParams.set(name, value);
  }
  const headers = new Headers({ "user-agent": "reveille" });
  for (const [name, template] of Object.entries(config.headers)) {
    // Without the secret that it contains, such as the token of a server that needs none.
    if (/\{\{\s*secret\s*\}\}/u.test(template) && values.secret === "") continue;
    const value = fill(template, values);
    if (value !== "") headers.set(name, value);
  }
  if (traceparent !== undefined) headers.set("traceparent", traceparent);
  const isJson = config.json !== undefined;
  if (!headers.has("content-type")) {
    headers.set("content-type", isJson ? "application/json" : "text/plain; charset=utf-8");
  }
  const body = isJson ? JSON.stringify(fillJson(config.json, values)) : fill(config.body ?? "{{text}}", values);
  return new Request(url, { method: config.method, headers, body, redirect: "manual" });
}

/** One pass: what a value holds is never expanded again. */
function fill(template: string, values: Values, encode: (value: string) => string = (value) => value): string {
  return template.replaceAll(PLACEHOLDER, (_, name: keyof Values) => encode(values[name]));
}

function fillJson(node: unknown, values: Values): unknown {
  if (typeof node === "string") return fill(node, values);
  if (Array.isArray(node)) return node.map((item) => fillJson(item, values));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node).filter(([, value]) => !isEmpty(value, values));
  return Object.fromEntries(entries.map(([key, value]) => [key, fillJson(value, values)]));
}

/** A single placeholder without a value: the platform then takes its default. */
function isEmpty(template: unknown, values: Values): boolean {
  const name = typeof template === "string" ? SINGLE.exec(template)?.[1] : undefined;
  return name !== undefined && name !== "text" && values[name as keyof Values] === "";
}

async function exchange(
  config: HttpChannelConfig,
  { channel }: MessagePart,
  { request, signal }: { readonly request: Request; readonly signal: AbortSignal | undefined },
): Promise<Answer> {
  const { timeoutMs } = config;
  const timed = timedSignal(timeoutMs, signal);
  try {
    const response = await fetch(request, { signal: timed.signal });
    const { text, isCut } = await beginningOf(response);
    return { status: response.status, headers: response.headers, json: parse(text), isCut };
  } catch (error) {
    throw requestFailure(`The channel ${channel}`, { error, isOverdue: timed.isOverdue(), timeoutMs });
  }
}

async function beginningOf(response: Response): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > MAX_ANSWER_BYTES) break;
  }
  return { text: Buffer.concat(chunks).toString("utf8"), isCut: bytes > MAX_ANSWER_BYTES };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * What the platform has against the message, without secrets; `undefined` when it took it. A 2xx that is too long to
 * be read counts as taken: no refusal is that long, and a message that is sent again would arrive twice.
 */
function refusalIn(config: HttpChannelConfig, { status, json, isCut }: Answer): string | undefined {
  const { ok, problem } = config;
  const isSuccess = status >= 200 && status <= 299;
  if (isSuccess && (isCut || ok === undefined || isYes(valueAt(json, ok)))) return undefined;
  const said = problem === undefined ? undefined : valueAt(json, problem);
  // Hidden before it is cut: the beginning of a secret would not be recognized.
  const words = typeof said === "string" && said !== "" ? `: ${hide(said, config).slice(0, MAX_PROBLEM_CHARS)}` : "";
  if (status >= 300 && status < 400) return `it answered ${status}; redirects are not followed, correct its url`;
  return isSuccess ? `it answered ${status} and says that it did not${words}` : `it answered ${status}${words}`;
}

function passesLater({ problem, passing = [] }: HttpChannelConfig, { json }: Answer): boolean {
  return problem !== undefined && passing.some((each) => each === valueAt(json, problem));
}

function isYes(value: unknown): boolean {
  return value === true || value === 1 || value === "ok";
}

function retryAfterOf({ retryAfter }: HttpChannelData, { headers, json }: Answer): number | undefined {
  const header = headers.get("retry-after");
  const inAnswer = retryAfter === undefined ? undefined : valueAt(json, retryAfter);
  const seconds = header !== null && header.trim() !== "" ? Number(header) : Number(inAnswer ?? NaN);
  const ms = seconds >= 0 ? Math.ceil(seconds * 1_000) : Date.parse(header ?? "") - Date.now();
  return ms >= 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined;
}

function valueAt(json: unknown, path: string): unknown {
  return lookup(json, compilePath(path));
}

/** A platform may repeat in its answer what it was sent. */
function hide(text: string, { hidden }: HttpChannelConfig): string {
  return hidden.reduce((shown, secret) => shown.replaceAll(secret, "***"), text);
}

/** The reason why a URL cannot be one, with all placeholders filled; `undefined` when it can. */
export function urlProblem(template: string): string | undefined {
  const values = Object.fromEntries(PLACEHOLDERS.map((name) => [name, "x"])) as unknown as Values;
  const authority = /^https?:\/\/[^/?#]*/u.exec(template)?.[0] ?? "";
  if (authority.includes("{{")) return "has a placeholder in its host; only what follows the host can have one";
  try {
    return new URL(fill(template, values)).href === "" ? "is no URL" : undefined;
  } catch (error) {
    return `is no URL: ${reasonOf(error)}`;
  }
}
