/** The gateway's own HTTP API: what is in its sessions, deliveries and outbox, and what an operator does about it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { operatorEndpoints } from "../../../api/operator-endpoints.ts";
import { ApiRouter, methodOf } from "../../../api/router.ts";
import type { ApiEndpoints } from "../../../api/endpoint.ts";
import type { HttpRouter } from "../../../core/host.ts";
import { answerJson } from "../../../http/answer.ts";
import { sendAnswer } from "../../../http/send-answer.ts";
import { sendError } from "../../../api/errors.ts";
import { readApiQuery } from "../../../api/request.ts";
import type { GatewayConfig } from "../config/file.ts";
import type { GatewayStatus } from "../status.ts";
import type { ApiGuard } from "./guard.ts";
import type { McpRoute } from "./mcp-route.ts";
import type { MetricsRoute } from "./metrics-route.ts";
import { API_PATH, HEALTH_PATH, READY_PATH } from "./routing-table.ts";
import { approvalEndpoints } from "./approvals-api.ts";
import { type GatewaySources, SessionsApi } from "./sessions-api.ts";

export interface GatewayApiOptions {
  readonly endpoints: ApiEndpoints;
  readonly guard: ApiGuard;
  readonly status: GatewayStatus;
  readonly metrics: MetricsRoute;
  readonly mcp: McpRoute;
}

/** `GET /health`, `GET /ready`, `GET /metrics`, `/mcp` and everything under `/api/v1`, which takes the gateway token as bearer. */
export class GatewayApi {
  readonly #api: ApiRouter;
  readonly #status: GatewayStatus;
  readonly #metrics: MetricsRoute;
  readonly #mcp: McpRoute;

  constructor({ endpoints, guard, status, metrics, mcp }: GatewayApiOptions) {
    this.#mcp = mcp;
    this.#metrics = metrics;
    this.#status = status;
    this.#api = new ApiRouter({ prefix: API_PATH, endpoints, admit: (req, res) => guard.admit(req, res) });
  }

  /** Takes the tokens of a new configuration into use. */
  configure(config: GatewayConfig): void {
    this.#metrics.configure(config);
    this.#mcp.configure(config);
  }

  /** Registers the routes of the gateway itself. */
  route(router: HttpRouter): void {
    router.register({ path: HEALTH_PATH, match: "exact", handler: answerHealth });
    router.register({ path: READY_PATH, match: "exact", handler: (req, res) => this.#answerReady(req, res) });
    router.register(this.#metrics.route());
    router.register(this.#mcp.route());
    router.register({ path: API_PATH, match: "prefix", handler: (req, res) => this.#api.handle(req, res) });
  }

  /** A refused file leaves it ready: to take the gateway out of service for that would lose what it still serves. */
  async #answerReady(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (methodOf(req) !== "GET") {
      sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: "GET, HEAD" } });
      return;
    }
    const { isReady, problems } = await this.#status.readiness();
    const status = !isReady ? "not ready" : problems.length > 0 ? "degraded" : "ready";
    sendAnswer(req, res, answerJson(isReady ? 200 : 503, { ok: isReady, status, problems }));
  }
}

/** The endpoints for operators: for programs below `/api/v1`, for the console below its own path. */
export function gatewayEndpoints(sources: GatewaySources, status: GatewayStatus): ApiEndpoints {
  return {
    ...new SessionsApi(sources).endpoints(),
    ...approvalEndpoints(sources.approvals),
    ...operatorEndpoints(sources),
    "public-url": {
      // A question with which whoever holds the gateway token finds out whether a public URL leads here.
      POST: () => answerJson(200, status.askReachability()),
    },
    status: {
      GET: async ({ search }) => {
        readApiQuery(search, []);
        return answerJson(200, await status.details());
      },
    },
  };
}

function answerHealth(req: IncomingMessage, res: ServerResponse): void {
  if (methodOf(req) === "GET") sendAnswer(req, res, answerJson(200, { ok: true, status: "live" }));
  else sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: "GET, HEAD" } });
}
