/**
 * An MCP server with events, by the official SDK; the methods of the extension are written by its text, which the SDK
 * does not have: https://modelcontextprotocol.io/seps/3415-events-extension.
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createMcpHandler, McpServer, ProtocolError } from "@modelcontextprotocol/server";
import { Webhook } from "standardwebhooks";

export const PUBLIC_URL = "https://gateway.example.com";
const EXTENSION = "io.modelcontextprotocol/events";
const RETRY_MS = 20;

export interface SourceEvent {
  readonly eventId: string;
  readonly name: string;
  readonly timestamp: string;
  readonly data: object;
}

export interface SourceSubscription {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  secrets: string[];
  /** Events before it are acknowledged or given up. */
  position: number;
  expiresAt: number;
  stopped: boolean;
}

export interface SourceRequest {
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly at: number;
  readonly version: string | undefined;
}

export interface SourceOptions {
  readonly delivery?: readonly string[];
  /** `draft`: `webhook-id` is the event's, and the capability stands alone. `final`: each message has an id of its own. */
  readonly dialect?: "draft" | "final";
  readonly ttlMs?: number;
  /** False: the protocol of 2025 alone. */
  readonly isModern?: boolean;
  readonly token?: string;
}

/** What the extension asks of a server, with the faults that a test wants. */
export class EventSource {
  readonly requests: SourceRequest[] = [];
  readonly subscriptions = new Map<string, SourceSubscription>();
  /** Statuses of the gateway's answers to events and control messages. */
  readonly answers: number[] = [];
  events: SourceEvent[] = [];
  /** Older ones are gone. */
  floor = 0;
  token: string;
  /** Where calls of the public URL go. */
  gatewayUrl = "";
  /** Sends each event that many times. */
  copies = 1;
  readonly #options: Required<Omit<SourceOptions, "token">>;
  #server: Server | undefined;
  #port = 0;
  readonly #verified = new Set<string>();
  /** Answers that a test puts in the place of the server's own, the next first. */
  readonly scripted: ((params: Record<string, unknown>) => object | undefined)[] = [];

  constructor({
    delivery = ["webhook", "poll"],
    dialect = "final",
    ttlMs = 3_600_000,
    isModern = true,
    token = "token-of-the-mcp-server",
  }: SourceOptions = {}) {
    this.#options = { delivery, dialect, ttlMs, isModern };
    this.token = token;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  async start(): Promise<void> {
    this.#server = createServer((req, res) => {
      void this.#answer(req).then(async (response) => {
        res.writeHead(response.status, Object.fromEntries(response.headers));
        res.end(Buffer.from(await response.arrayBuffer()));
      });
    }).listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Forgets every subscription, as a process does that holds them in memory. */
  async stop(): Promise<void> {
    for (const subscription of this.subscriptions.values()) subscription.stopped = true;
    this.subscriptions.clear();
    this.#verified.clear();
    this.#server?.closeAllConnections();
    await new Promise((resolve) => void this.#server?.close(resolve));
  }

  emit(count: number, name = "incident.created"): void {
    for (let at = 0; at < count; at++) {
      const number = this.events.length + 1;
      const timestamp = new Date().toISOString();
      this.events.push({ eventId: `evt_${number}`, name, timestamp, data: { number, title: `Incident ${number}` } });
    }
  }

  /** Tells every subscriber that events are missing, and goes on after them. */
  async gap(): Promise<void> {
    this.floor = this.events.length;
    for (const subscription of this.subscriptions.values()) {
      subscription.position = this.floor;
      await this.#control(subscription, { type: "gap", cursor: this.#cursor(this.floor) });
    }
  }

  /** Ends every subscription. */
  async terminate(code = -32_012, message = "Forbidden"): Promise<void> {
    const all = [...this.subscriptions.values()];
    this.subscriptions.clear();
    for (const subscription of all) {
      subscription.stopped = true;
      await this.#control(subscription, { type: "terminated", error: { code, message } });
    }
  }

  #cursor(position: number): string {
    return `c${position}`;
  }

  async #answer(req: IncomingMessage): Promise<Response> {
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    if (req.headers.authorization !== `Bearer ${this.token}`) return new Response("{}", { status: 401 });
    const body = Buffer.concat(chunks);
    const version = req.headers["mcp-protocol-version"] as string | undefined;
    if (!this.#options.isModern && version === "2026-07-28") {
      const error = { code: -32_000, message: "Bad Request: Unsupported protocol version" };
      return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 400 });
    }
    const handler = createMcpHandler(() => this.#protocol(version), { keepAliveMs: 0 });
    const headers = Object.entries(req.headers).filter(([, value]) => typeof value === "string") as [string, string][];
    try {
      const request = new Request(this.url, { method: "POST", headers, body: new Uint8Array(body) });
      const response = await handler.fetch(request, { parsedBody: JSON.parse(body.toString()) as unknown });
      const text = await response.text();
      return new Response(text === "" ? null : text, { status: response.status, headers: response.headers });
    } finally {
      await handler.close();
    }
  }

  #protocol(version: string | undefined): McpServer {
    const capabilities = this.#options.dialect === "draft" ? { events: {} } : { extensions: { [EXTENSION]: {} } };
    const server = new McpServer({ name: "incidents", version: "1.0.0" }, { capabilities });
    server.server.fallbackRequestHandler = async ({ method, params = {} }) => {
      this.requests.push({ method, params, at: Date.now(), version });
      const answer = await this.#call(method, params);
      return answer as Record<string, unknown>;
    };
    return server;
  }

  async #call(method: string, params: Record<string, unknown>): Promise<object> {
    if (method === "events/list") return this.#list();
    const scripted = this.scripted.shift()?.(params);
    if (scripted !== undefined) return scripted;
    if (method === "events/poll") return this.#poll(params);
    if (method === "events/subscribe") return this.#subscribe(params);
    if (method === "events/unsubscribe") return this.#unsubscribe(params);
    throw new ProtocolError(-32_601, "Method not found");
  }

  #list(): object {
    const schema = { type: "object", additionalProperties: true };
    const { delivery } = this.#options;
    return {
      events: [
        { name: "incident.created", description: "An incident.", delivery, inputSchema: schema, payloadSchema: schema },
      ],
    };
  }

  #from(cursor: unknown): { readonly position: number; readonly truncated: boolean } {
    const wanted = typeof cursor === "string" ? Number(cursor.slice(1)) : this.events.length;
    return { position: Math.max(wanted, this.floor), truncated: wanted < this.floor };
  }

  #poll({ cursor, maxEvents = 100 }: Record<string, unknown>): object {
    const { position, truncated } = this.#from(cursor);
    const end = Math.min(this.events.length, position + Number(maxEvents));
    const events = this.events.slice(position, end);
    return { events, cursor: this.#cursor(end), truncated, hasMore: end < this.events.length, nextPollMs: 0 };
  }

  async #subscribe(params: Record<string, unknown>): Promise<object> {
    const {
      name,
      arguments: args,
      delivery,
      cursor,
      ttlMs,
    } = params as {
      name: string;
      arguments: object;
      delivery: { mode: string; url: string; secret: string };
      cursor: unknown;
      ttlMs: number;
    };
    if (!/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/u.test(delivery.secret)) throw new ProtocolError(-32_602, "InvalidParams");
    if (!delivery.url.startsWith("https://")) throw new ProtocolError(-32_602, "InvalidParams");
    const key = JSON.stringify([delivery.url, name, args]);
    const id = `sub_${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;
    const { position, truncated } = this.#from(cursor);
    const expiresAt = Date.now() + Math.min(ttlMs, this.#options.ttlMs);
    const known = this.subscriptions.get(key);
    const made = known ?? {
      id,
      url: delivery.url,
      name,
      secrets: [delivery.secret],
      position,
      expiresAt,
      stopped: false,
    };
    made.expiresAt = expiresAt;
    if (made.secrets[0] !== delivery.secret) made.secrets = [delivery.secret, made.secrets[0]!];
    if (!this.#verified.has(delivery.url)) {
      const challenge = randomUUID();
      const answer = await this.#post(made, `msg_verification_${randomUUID()}`, { type: "verification", challenge });
      const echoed = answer.ok ? ((await answer.json()) as { challenge?: string }).challenge : undefined;
      if (echoed !== challenge)
        throw new ProtocolError(-32_015, "CallbackEndpointError", { reason: "challenge_failed" });
      this.#verified.add(delivery.url);
    }
    if (known === undefined) {
      this.subscriptions.set(key, made);
      void this.#send(made);
    }
    const given = { id, refreshBefore: new Date(expiresAt).toISOString() };
    return { ...given, cursor: this.#cursor(made.position), truncated: known === undefined && truncated };
  }

  #unsubscribe(params: Record<string, unknown>): object {
    const {
      name,
      arguments: args,
      delivery,
    } = params as { name: string; arguments: object; delivery: { url: string } };
    const key = JSON.stringify([delivery.url, name, args]);
    const known = this.subscriptions.get(key);
    if (known === undefined) throw new ProtocolError(-32_011, "NotFound");
    known.stopped = true;
    this.subscriptions.delete(key);
    return {};
  }

  /** In order; each event until it is taken. */
  async #send(subscription: SourceSubscription): Promise<void> {
    while (!subscription.stopped) {
      const event = this.events[subscription.position];
      if (event === undefined || this.gatewayUrl === "") await sleep(RETRY_MS);
      else if (await this.#sendEvent(subscription, event)) subscription.position++;
      else await sleep(RETRY_MS);
    }
  }

  async #sendEvent(subscription: SourceSubscription, event: SourceEvent): Promise<boolean> {
    const body = { ...event, cursor: this.#cursor(subscription.position) };
    const answers = [];
    for (let copy = 0; copy < this.copies; copy++) {
      const id = this.#options.dialect === "draft" ? event.eventId : `msg_${randomUUID()}`;
      answers.push(await this.#post(subscription, id, body).catch(() => undefined));
    }
    for (const answer of answers) if (answer !== undefined) this.answers.push(answer.status);
    return answers.every((answer) => answer?.ok === true);
  }

  async #control(
    subscription: SourceSubscription,
    body: { readonly type: string; readonly [key: string]: unknown },
  ): Promise<void> {
    const answer = await this.#post(subscription, `msg_${body.type}_${randomUUID()}`, body);
    this.answers.push(answer.status);
  }

  async #post(
    subscription: Pick<SourceSubscription, "id" | "url" | "secrets">,
    id: string,
    content: object,
  ): Promise<Response> {
    const body = JSON.stringify(content);
    const at = new Date();
    const signatures = subscription.secrets.map((secret) => new Webhook(secret).sign(id, at, body));
    return fetch(subscription.url.replace(PUBLIC_URL, this.gatewayUrl), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
        "webhook-signature": signatures.join(" "),
        "x-mcp-subscription-id": subscription.id,
      },
      body,
    });
  }
}
