import type { IncomingMessage } from "node:http";
import {
  type ApiCall,
  type ApiEndpoints,
  type ApiReply,
  type ApiSources,
  decodeSegment,
} from "../../../api/endpoint.ts";
import { ApiQueryError, readApiQuery, readPage } from "../../../api/request.ts";
import { isRefusal } from "../../../core/errors.ts";
import type { ChannelTarget } from "../../../core/host.ts";
import { answerJson } from "../../../http/answer.ts";
import { parsePayload } from "../../../http/parse-payload.ts";
import { readBody } from "../../../http/read-body.ts";
import type { Approvals } from "../agents/approvals.ts";
import type { EmbeddedChannels } from "../channels.ts";
import type { EmbeddedSessions } from "../sessions.ts";
import type { MessageQuery } from "../state/session-reads.ts";

const BODY_LIMITS = { maxBytes: 16_384, timeoutMs: 10_000 };
const MAX_RECIPIENT_CHARS = 1_000;

/**
 * `GET` and `PUT /api/v1/sessions/<main session>/route`.
 *
 * The embedded gateway has no channel on which an owner writes first, so a program that bridges one says
 * here whom the main session talked to.
 */
class OwnerRoute {
  readonly #sources: Pick<GatewaySources, "sessions" | "channels">;

  constructor(sources: Pick<GatewaySources, "sessions" | "channels">) {
    this.#sources = sources;
  }

  /** The route, `null` when there is none; `undefined` when the key is no main session's. */
  async get(key: string | undefined): Promise<object | undefined> {
    const agentId = this.#agentOf(key);
    return agentId === undefined ? undefined : { route: (await this.#sources.sessions.lastRoute(agentId)) ?? null };
  }

  /** Sets the route from a body `{ channel, to }`. Throws an {@link ApiQueryError} for a wrong one. */
  async set(req: IncomingMessage, key: string | undefined): Promise<object | undefined> {
    const agentId = this.#agentOf(key);
    if (agentId === undefined) return undefined;
    const route = this.#read(await readPayload(req));
    await this.#sources.sessions.setLastRoute(agentId, route);
    return { route };
  }

  #agentOf(key: string | undefined): string | undefined {
    const { sessions } = this.#sources;
    return sessions.agentOfMainSession(sessions.fullKey(decodeSegment(key)));
  }

  #read(payload: unknown): ChannelTarget {
    const { channel, to } = payload as Readonly<Record<string, unknown>>;
    const known = this.#sources.channels.list().map(({ id }) => id);
    if (typeof channel !== "string" || !known.includes(channel)) {
      throw new ApiQueryError(`channel must be one of ${known.join(", ")}.`);
    }
    if (typeof to !== "string" || to.trim() === "" || to.length > MAX_RECIPIENT_CHARS) {
      throw new ApiQueryError(`to must be a string of 1 to ${MAX_RECIPIENT_CHARS} characters.`);
    }
    return { channel, to: to.trim() };
  }
}

async function readPayload(req: IncomingMessage): Promise<unknown> {
  const body = await readBody(req, BODY_LIMITS);
  const parsed = isRefusal(body) ? undefined : parsePayload(body, "application/json");
  if (!parsed?.ok) throw new ApiQueryError('The body must be JSON: { "channel": ..., "to": ... }.');
  return parsed.payload;
}

/** `/api/v1/sessions` and `/api/v1/outbox`: what was said, what waits, and what channels were given. */
export class SessionsApi {
  readonly #sources: Pick<GatewaySources, "sessions" | "channels">;
  readonly #ownerRoute: OwnerRoute;

  constructor(sources: Pick<GatewaySources, "sessions" | "channels">) {
    this.#sources = sources;
    this.#ownerRoute = new OwnerRoute(sources);
  }

  endpoints(): ApiEndpoints {
    const { sessions, channels } = this.#sources;
    return {
      sessions: { GET: async ({ search }) => answerJson(200, await sessions.list(pageOf(search))) },
      "sessions/*/messages": {
        GET: async (call) => answerJson(200, await sessions.messages(this.#sessionKey(call), messagesOf(call.search))),
      },
      "sessions/*/events": {
        GET: async (call) => answerJson(200, await sessions.pendingEvents(this.#sessionKey(call), pageOf(call.search))),
      },
      "sessions/*/route": {
        GET: async ({ key }) => answerFound(await this.#ownerRoute.get(key)),
        PUT: async ({ req, key }) => answerFound(await this.#ownerRoute.set(req, key)),
      },
      outbox: { GET: async ({ search }) => answerJson(200, await channels.outbox(pageOf(search))) },
    };
  }

  #sessionKey({ key }: ApiCall): string {
    return this.#sources.sessions.fullKey(decodeSegment(key));
  }
}

function pageOf(search: string): ReturnType<typeof readPage> {
  return readPage(readApiQuery(search, ["limit", "cursor"]));
}

function messagesOf(search: string): MessageQuery {
  const query = readApiQuery(search, ["limit", "cursor", "order"]);
  const order = query.get("order") ?? "oldest";
  if (order !== "oldest" && order !== "newest") throw new ApiQueryError("order must be oldest or newest.");
  return { ...readPage(query), order };
}

function answerFound(body: object | undefined): ApiReply {
  return body && answerJson(200, body);
}

/** The parts that the gateway's API reads from and acts on. */
export interface GatewaySources extends ApiSources {
  readonly sessions: EmbeddedSessions;
  readonly channels: Pick<EmbeddedChannels, "outbox" | "list">;
  readonly approvals: Pick<Approvals, "list" | "answer">;
}
