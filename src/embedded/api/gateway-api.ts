/** The gateway's own HTTP API: what is in its sessions, deliveries and outbox. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { STATES } from "../../delivery.ts";
import type { State } from "../../delivery.ts";
import { answerJson } from "../../http/respond.ts";
import { sendAnswer } from "../../http/send-answer.ts";
import type { HttpRoute, HttpRouter } from "../../host.ts";
import { StoreError } from "../../store/delivery-store.ts";
import { sendError } from "../server/gateway-errors.ts";
import { InvalidCursorError } from "../state/page-cursor.ts";
import type { ApiGuard } from "./api-guard.ts";
import { API_PATH, decodeSegment, HEALTH_PATH, readApiPath } from "./api-paths.ts";
import type { ApiPath } from "./api-paths.ts";
import { ApiQueryError, readApiQuery, readPage } from "./api-query.ts";
import type { ApiSources } from "./api-sources.ts";
import { OwnerRoute } from "./owner-route.ts";

const readMethods = "GET, HEAD";
/** Lists that are cut into pages take these. */
const pageNames = ["limit", "cursor"] as const;

/** `GET /health` and everything under `/api/v1`, which takes the gateway token as bearer. */
export class GatewayApi {
  readonly #sources: ApiSources;
  readonly #guard: ApiGuard;
  readonly #ownerRoute: OwnerRoute;

  constructor(options: { sources: ApiSources; guard: ApiGuard }) {
    this.#sources = options.sources;
    this.#guard = options.guard;
    this.#ownerRoute = new OwnerRoute(options.sources);
  }

  /** Registers the routes of the gateway itself. */
  route(router: HttpRouter): void {
    for (const route of this.#routes()) router.register(route);
  }

  #routes(): readonly HttpRoute[] {
    return [
      { path: HEALTH_PATH, match: "exact", handler: answerHealth },
      { path: API_PATH, match: "prefix", handler: (req, res) => this.#handle(req, res) },
    ];
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = readApiPath(req.url ?? API_PATH);
    const writes = req.method === "PUT" && takesRoute(path);
    if (!isRead(req) && !writes) {
      const allow = takesRoute(path) ? `${readMethods}, PUT` : readMethods;
      sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow } });
      return;
    }
    const verdict = this.#guard.check(req);
    if (verdict === "unauthorized") {
      sendError(res, "UNAUTHORIZED", { headers: { "www-authenticate": "Bearer" } });
      return;
    }
    if (verdict !== "ok") {
      sendError(res, "TOO_MANY_FAILURES", { headers: { "retry-after": verdict.lockedForSeconds } });
      return;
    }
    try {
      const answer = writes ? await this.#ownerRoute.set(req, path.key) : await this.#answer(path);
      if (answer === undefined) sendError(res, "NOT_FOUND");
      else sendAnswer(req, res, answerJson(200, answer));
    } catch (error) {
      answerFailure(res, error);
    }
  }

  /** The body of the answer, or `undefined` when there is nothing under the path. */
  async #answer({ collection, key, part, rest, search }: ApiPath): Promise<object | undefined> {
    if (rest.length > 0 || key === "") return undefined;
    const { sessions, channels, deliveries } = this.#sources;
    const page = () => readPage(readApiQuery(search, pageNames));
    const session = () => sessions.fullKey(decodeSegment(key));
    switch (part === undefined ? collection : `${collection}/${part}`) {
      case "sessions":
        return key === undefined ? sessions.list(page()) : undefined;
      case "sessions/messages":
        return sessions.messages(session(), page());
      case "sessions/events":
        return sessions.pendingEvents(session(), page());
      case "sessions/route":
        return this.#ownerRoute.get(key);
      case "outbox":
        return key === undefined ? channels.outbox(page()) : undefined;
      case "deliveries":
        if (key === undefined) return await this.#listDeliveries(search);
        readApiQuery(search, []);
        return await deliveries.get(decodeSegment(key));
      default:
        return undefined;
    }
  }

  async #listDeliveries(search: string): Promise<object> {
    const query = readApiQuery(search, ["state", "route", ...pageNames]);
    const route = query.get("route");
    const state = readState(query.get("state"));
    return await this.#sources.deliveries.list({
      ...readPage(query),
      ...(state === undefined ? {} : { state }),
      ...(route === undefined ? {} : { route }),
    });
  }
}

function answerHealth(req: IncomingMessage, res: ServerResponse): void {
  if (isRead(req)) sendAnswer(req, res, answerJson(200, { ok: true, status: "live" }));
  else sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: readMethods } });
}

/** The one thing that can be set: whom a main session last talked to. */
function takesRoute({ collection, key, part, rest }: ApiPath): boolean {
  return collection === "sessions" && Boolean(key) && part === "route" && rest.length === 0;
}

function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

function answerFailure(res: ServerResponse, error: unknown): void {
  if (error instanceof ApiQueryError) {
    sendError(res, "INVALID_QUERY", { message: error.message });
  } else if (error instanceof InvalidCursorError || (error instanceof StoreError && error.code === "INVALID")) {
    sendError(res, "INVALID_QUERY", { message: "cursor is not one that this list gave out." });
  } else if (error instanceof StoreError && (error.code === "UNAVAILABLE" || error.code === "CLOSED")) {
    sendError(res, "STORE_UNAVAILABLE", { headers: { "retry-after": 1 } });
  } else {
    throw error;
  }
}

function readState(text: string | undefined): State | undefined {
  if (text === undefined) return undefined;
  const state = STATES.find((known) => known === text);
  if (state === undefined) throw new ApiQueryError(`state must be one of ${STATES.join(", ")}.`);
  return state;
}
