/** The gateway's own HTTP API: what is in its sessions, deliveries and outbox, and what an operator does about it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hasUnreadBody } from "../../http/discard-body.ts";
import { answerJson } from "../../http/respond.ts";
import { sendAnswer } from "../../http/send-answer.ts";
import type { HttpRoute, HttpRouter } from "../../host.ts";
import { StoreError } from "../../store/delivery-store.ts";
import { sendError } from "../server/gateway-errors.ts";
import { InvalidCursorError } from "../state/page-cursor.ts";
import { allowedMethods, findEndpoint } from "./api-endpoint.ts";
import type { ApiEndpoint, ApiEndpoints, ApiMethod, ApiReply, BytesAnswer } from "./api-endpoint.ts";
import type { ApiGuard } from "./api-guard.ts";
import { API_PATH, HEALTH_PATH, readApiPath } from "./api-paths.ts";
import { ApiQueryError } from "./api-query.ts";
import type { ApiSources } from "./api-sources.ts";
import { DeliveriesApi } from "./deliveries-api.ts";
import { HooksApi } from "./hooks-api.ts";
import { SessionsApi } from "./sessions-api.ts";

/** `GET /health` and everything under `/api/v1`, which takes the gateway token as bearer. */
export class GatewayApi {
  readonly #guard: ApiGuard;
  readonly #endpoints: ApiEndpoints;

  constructor({ sources, guard }: { sources: ApiSources; guard: ApiGuard }) {
    this.#guard = guard;
    this.#endpoints = {
      ...new SessionsApi(sources).endpoints(),
      ...new DeliveriesApi(sources).endpoints(),
      ...new HooksApi(sources).endpoints(),
    };
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
    const endpoint = findEndpoint(this.#endpoints, path);
    const method = methodOf(req);
    if (!isTaken(method, endpoint)) {
      sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: allowedMethods(endpoint) } });
      return;
    }
    if (!this.#admit(req, res)) return;
    try {
      const reply = await endpoint?.[method]?.({ req, key: path.key ?? "", search: path.search });
      sendReply(req, res, reply);
    } catch (error) {
      answerFailure(res, error);
    }
  }

  /** False when the caller has been turned away. */
  #admit(req: IncomingMessage, res: ServerResponse): boolean {
    const verdict = this.#guard.check(req);
    if (verdict === "ok") return true;
    if (verdict === "unauthorized") {
      sendError(res, "UNAUTHORIZED", { headers: { "www-authenticate": "Bearer" } });
    } else {
      sendError(res, "TOO_MANY_FAILURES", { headers: { "retry-after": verdict.lockedForSeconds } });
    }
    return false;
  }
}

function methodOf({ method }: IncomingMessage): ApiMethod | undefined {
  if (method === "GET" || method === "HEAD") return "GET";
  return method === "PUT" || method === "POST" || method === "DELETE" ? method : undefined;
}

/** Under a path that does not exist `GET` is taken, and learns so only with the token. */
function isTaken(method: ApiMethod | undefined, endpoint: ApiEndpoint | undefined): method is ApiMethod {
  if (method === undefined) return false;
  return endpoint === undefined ? method === "GET" : endpoint[method] !== undefined;
}

function answerHealth(req: IncomingMessage, res: ServerResponse): void {
  if (methodOf(req) === "GET") sendAnswer(req, res, answerJson(200, { ok: true, status: "live" }));
  else sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: "GET, HEAD" } });
}

function sendReply(req: IncomingMessage, res: ServerResponse, reply: ApiReply): void {
  if (reply === undefined) sendError(res, "NOT_FOUND");
  else if ("bytes" in reply) sendBytes(req, res, reply);
  else sendAnswer(req, res, reply);
}

/** What a sender sent is a file to be saved, whatever is in it. */
function sendBytes(req: IncomingMessage, res: ServerResponse, { bytes, fileName }: BytesAnswer): void {
  res.writeHead(200, {
    "content-type": "application/octet-stream",
    "content-length": bytes.length,
    "content-disposition": `attachment; filename="${fileName}"`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...(hasUnreadBody(req) ? { connection: "close" } : {}),
  });
  res.end(bytes);
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
