/**
 * The way to the events of an MCP server over streamable HTTP, by the protocol of July 2026 and, where the server does
 * not speak it, that of 2025.
 *
 * The client library that the agents' tools use asks for events only where one of the two capabilities is declared, and
 * does not poll; so these few requests are made here.
 */
import { createParser } from "eventsource-parser";
import packageJson from "../../../../../package.json" with { type: "json" };
import { boundedFetch } from "../../agents/tool-transport.ts";

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const EVENTS_EXTENSION = "io.modelcontextprotocol/events";
const SAID_CHARS = 300;
/** The server asks back at the callback before it answers a subscription. */
const TIMEOUT_MS = 60_000;

/** Why a server did not do what it was asked to do, with its own words; no secret is part of the message. */
export class EventServerError extends Error {
  override readonly name = "EventServerError";
  /** Of the answer; `undefined`: there was none. */
  readonly status: number | undefined;
  /** Of JSON-RPC. */
  readonly code: number | undefined;

  constructor(message: string, { status, code }: { readonly status?: number; readonly code?: number } = {}) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface EventServerOptions {
  readonly url: string;
  readonly token: string | undefined;
  /** Ends every request. */
  readonly signal: AbortSignal;
}

interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** One connection; after a failure another one takes its place. Every method rejects with an {@link EventServerError}. */
export class EventServer {
  readonly #options: EventServerOptions;
  #version = MODERN;
  #session: string | undefined;
  #nextId = 1;

  private constructor(options: EventServerOptions) {
    this.#options = options;
  }

  /** Finds out which protocol the server speaks, and that it has events. */
  static async connect(options: EventServerOptions): Promise<EventServer> {
    const server = new EventServer(options);
    const capabilities = await server.#open();
    const { events, extensions } = recordOf(capabilities);
    if (events === undefined && recordOf(extensions)[EVENTS_EXTENSION] === undefined) {
      throw new EventServerError("it offers no events");
    }
    return server;
  }

  async request(method: string, params: object): Promise<unknown> {
    const id = this.#nextId++;
    const isModern = this.#version === MODERN;
    const body = { jsonrpc: "2.0", id, method, params: isModern ? { ...params, _meta: META } : params };
    const response = await this.#post(body, isModern ? { "mcp-method": method } : {});
    const { status } = response;
    const message = await answerTo(id, response);
    if (message?.error !== undefined) throw this.#refusal(method, status, recordOf(message.error));
    if (!response.ok) throw new EventServerError(`it answers ${method} with ${status}`, { status });
    if (message?.result === undefined) throw new EventServerError(`it gives ${method} no answer`, { status });
    return message.result;
  }

  async #open(): Promise<unknown> {
    try {
      return recordOf(await this.request("server/discover", {}))["capabilities"];
    } catch (error) {
      const { status } = error as EventServerError;
      // Who is not let in, or cannot be reached, is not let in by the other protocol either.
      if (status === undefined || status === 401 || status === 403 || status === 429 || status >= 500) throw error;
    }
    this.#version = LEGACY;
    const params = { protocolVersion: LEGACY, capabilities: CAPABILITIES, clientInfo: CLIENT };
    const { capabilities, protocolVersion } = recordOf(await this.request("initialize", params));
    if (typeof protocolVersion === "string" && /^[\d-]{1,20}$/u.test(protocolVersion)) this.#version = protocolVersion;
    const response = await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" }, {});
    await response.body?.cancel();
    return capabilities;
  }

  async #post(body: object, headers: Readonly<Record<string, string>>): Promise<Response> {
    const { url, token, signal } = this.#options;
    let response: Response;
    try {
      response = await boundedFetch(url, {
        method: "POST",
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "user-agent": "reveille",
          "mcp-protocol-version": this.#version,
          ...headers,
          ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(body),
      });
    } catch (error) {
      throw unreached(error);
    }
    const { status } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      throw new EventServerError(
        `it answers ${status}, a redirect, which is not followed so that the token goes nowhere else`,
        { status },
      );
    }
    const session = response.headers.get("mcp-session-id");
    if (session !== null && this.#version !== MODERN && session.length <= 1_024) this.#session = session;
    return response;
  }

  #refusal(method: string, status: number, { code, message }: Readonly<Record<string, unknown>>): EventServerError {
    const said = typeof message === "string" ? this.#oneLine(message) : "no reason";
    const known = typeof code === "number" ? { status, code } : { status };
    return new EventServerError(`it refuses ${method}: ${said} (${known.code ?? "no code"})`, known);
  }

  /** The server's own words, without what a terminal would obey, and without the token. */
  #oneLine(text: string): string {
    const { token = "" } = this.#options;
    const hidden = token === "" ? text : text.replaceAll(token, "***");
    return hidden
      .slice(0, SAID_CHARS)
      .toWellFormed()
      .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
  }
}

const CLIENT = { name: "reveille", version: packageJson.version };
const CAPABILITIES = { extensions: { [EVENTS_EXTENSION]: {} } };
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": CLIENT,
  "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
};

/** An object's fields; of anything else none. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The message that answers a request; `undefined`: the body holds none. */
async function answerTo(id: number, response: Response): Promise<Message | undefined> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  try {
    if (isStream) return await answerIn(response.body, id);
    const message = parse(await response.text());
    return message?.id === id || message?.error !== undefined ? message : undefined;
  } catch (error) {
    throw unreached(error);
  }
}

/** Notifications that come before it are for others. */
async function answerIn(body: Response["body"], id: number): Promise<Message | undefined> {
  const found: Message[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      const message = parse(data);
      if (message?.id === id) found.push(message);
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (found.length > 0) break;
  }
  return found[0];
}

function parse(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function unreached(error: unknown): EventServerError {
  if (error instanceof Error && error.name === "TimeoutError") {
    return new EventServerError(`it did not answer within ${TIMEOUT_MS} ms`);
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "the connection ended";
  return new EventServerError(`it could not be reached (${code})`);
}
