/** The gateway's own HTTP API: what is in its sessions, deliveries and outbox, and what an operator does about it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { operatorEndpoints } from "../../../api/operator-endpoints.ts";
import { ApiRouter, methodOf } from "../../../api/router.ts";
import { type CheckToken, compileCheckToken } from "../../../auth/check-token.ts";
import type { SignInGuard, SignInVerdict } from "../../../console/routes.ts";
import { type ClientAddressResolver, compileClientAddress } from "../../../auth/client-address.ts";
import { Lockout } from "../../../auth/lockout.ts";
import { compileTokens, type TokenCarrier } from "../../../auth/token.ts";
import type { ApiEndpoints } from "../../../api/endpoint.ts";
import { isRefusal } from "../../../core/errors.ts";
import type { Clock, HttpRoute, HttpRouter } from "../../../core/host.ts";
import { answerJson } from "../../../http/answer.ts";
import { tunnelClient } from "../../../http/tunnel-client.ts";
import { sendAnswer } from "../../../http/send-answer.ts";
import { sendError } from "../../../api/errors.ts";
import { readApiQuery } from "../../../api/request.ts";
import type { GatewayStatus } from "../status.ts";
import { API_PATH, HEALTH_PATH, READY_PATH } from "./routing-table.ts";
import { approvalEndpoints } from "./approvals-api.ts";
import { type GatewaySources, SessionsApi } from "./sessions-api.ts";

interface GuardConfig {
  readonly authTokens: readonly string[];
  readonly trustedProxies: readonly string[];
}

/** 20 failures from one address within a minute lock it for a minute, as on the hook endpoints. */
const LOCKOUT = { failures: 20, windowMs: 60_000, lockMs: 60_000, maxClients: 10_000 };

/** No second carrier: the gateway token travels in `Authorization` alone. */
const noTokenHeader = "";

/** Compares the gateway token in constant time and slows down addresses that guess. */
export class ApiGuard implements SignInGuard {
  readonly #lockout: Lockout;
  #authenticate: CheckToken;
  #clientAddress: ClientAddressResolver;
  #config: GuardConfig;
  #generation = 0;

  constructor(config: GuardConfig, options: { clock: Clock }) {
    this.#lockout = new Lockout(LOCKOUT, options);
    this.#authenticate = this.#compile(config);
    this.#clientAddress = compileClientAddress(config.trustedProxies);
    this.#config = config;
  }

  get generation(): number {
    return this.#generation;
  }

  get behindProxy(): boolean {
    return this.#config.trustedProxies.length > 0;
  }

  /** Takes new tokens and proxies into use; failures stay counted. */
  configure(config: GuardConfig): void {
    if (config.authTokens.join("\n") !== this.#config.authTokens.join("\n")) this.#generation++;
    this.#config = config;
    this.#authenticate = this.#compile(config);
    this.#clientAddress = compileClientAddress(config.trustedProxies);
  }

  check(req: IncomingMessage): SignInVerdict {
    return this.#check(req, req);
  }

  checkToken(req: IncomingMessage, token: string): SignInVerdict {
    // Node hands over the bytes of a header as one character each.
    const wire = Buffer.from(token.trim(), "utf8").toString("latin1");
    return this.#check(req, { headers: { authorization: `Bearer ${wire}` }, rawHeaders: [] });
  }

  refuse(req: IncomingMessage): SignInVerdict {
    return this.#check(req, { headers: {}, rawHeaders: [] });
  }

  /** False when the caller has been turned away. */
  admit(req: IncomingMessage, res: ServerResponse): boolean {
    const verdict = this.check(req);
    if (verdict === "ok") return true;
    if (verdict === "unauthorized") {
      sendError(res, "UNAUTHORIZED", { headers: { "www-authenticate": "Bearer" } });
    } else {
      sendError(res, "TOO_MANY_FAILURES", { headers: { "retry-after": verdict.lockedForSeconds } });
    }
    return false;
  }

  #check(req: IncomingMessage, carrier: TokenCarrier): SignInVerdict {
    const forwarded = req.headers["x-forwarded-for"];
    const address =
      tunnelClient(req) ??
      this.#clientAddress(req.socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(",") : forwarded);
    const outcome = this.#authenticate(carrier, address);
    if (!isRefusal(outcome)) return "ok";
    return outcome.retryAfterSeconds === undefined ? "unauthorized" : { lockedForSeconds: outcome.retryAfterSeconds };
  }

  #compile({ authTokens }: GuardConfig): CheckToken {
    const tokens = compileTokens(authTokens, { tokenHeader: noTokenHeader });
    return compileCheckToken({ tokens, lockout: this.#lockout });
  }
}

export interface GatewayApiOptions {
  readonly endpoints: ApiEndpoints;
  readonly guard: ApiGuard;
  readonly status: GatewayStatus;
  readonly metrics: HttpRoute;
}

/** `GET /health`, `GET /ready`, `GET /metrics` and everything under `/api/v1`, which takes the gateway token as bearer. */
export class GatewayApi {
  readonly #api: ApiRouter;
  readonly #status: GatewayStatus;
  readonly #metrics: HttpRoute;

  constructor({ endpoints, guard, status, metrics }: GatewayApiOptions) {
    this.#metrics = metrics;
    this.#status = status;
    this.#api = new ApiRouter({ prefix: API_PATH, endpoints, admit: (req, res) => guard.admit(req, res) });
  }

  /** Registers the routes of the gateway itself. */
  route(router: HttpRouter): void {
    router.register({ path: HEALTH_PATH, match: "exact", handler: answerHealth });
    router.register({ path: READY_PATH, match: "exact", handler: (req, res) => this.#answerReady(req, res) });
    router.register(this.#metrics);
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
