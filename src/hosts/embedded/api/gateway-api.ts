/** The gateway's own HTTP API: what is in its sessions, deliveries and outbox, and what an operator does about it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiRouter, methodOf } from "../../../api/router.ts";
import { operatorEndpoints } from "../../../api/operator-endpoints.ts";
import { answerJson } from "../../../http/answer.ts";
import { sendAnswer } from "../../../http/send-answer.ts";
import type { HttpRouter } from "../../../core/host.ts";
import { sendError } from "../server/errors.ts";
import type { ApiGuard } from "./api-guard.ts";
import { API_PATH, HEALTH_PATH } from "./gateway-paths.ts";
import type { GatewaySources } from "./gateway-sources.ts";
import { SessionsApi } from "./sessions-api.ts";

/** `GET /health` and everything under `/api/v1`, which takes the gateway token as bearer. */
export class GatewayApi {
  readonly #guard: ApiGuard;
  readonly #api: ApiRouter;

  constructor({ sources, guard }: { sources: GatewaySources; guard: ApiGuard }) {
    this.#guard = guard;
    this.#api = new ApiRouter({
      prefix: API_PATH,
      endpoints: { ...new SessionsApi(sources).endpoints(), ...operatorEndpoints(sources) },
      admit: (req, res) => this.#admit(req, res),
    });
  }

  /** Registers the routes of the gateway itself. */
  route(router: HttpRouter): void {
    router.register({ path: HEALTH_PATH, match: "exact", handler: answerHealth });
    router.register({ path: API_PATH, match: "prefix", handler: (req, res) => this.#api.handle(req, res) });
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

function answerHealth(req: IncomingMessage, res: ServerResponse): void {
  if (methodOf(req) === "GET") sendAnswer(req, res, answerJson(200, { ok: true, status: "live" }));
  else sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: "GET, HEAD" } });
}
