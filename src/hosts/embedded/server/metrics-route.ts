import type { IncomingMessage, ServerResponse } from "node:http";
import ipaddr from "ipaddr.js";
import { ApiRouter } from "../../../api/router.ts";
import type { ApiEndpoint } from "../../../api/endpoint.ts";
import { sendError } from "../../../api/errors.ts";
import { isKnownHost } from "../../../console/request-checks.ts";
import type { Clock, HttpRoute } from "../../../core/host.ts";
import type { GatewayConfig } from "../config/file.ts";
import { ApiGuard } from "./guard.ts";
import { METRICS_PATH } from "./routing-table.ts";

interface MetricsRouteOptions {
  readonly config: GatewayConfig;
  readonly endpoint: ApiEndpoint;
  readonly clock: Clock;
}

const NEEDS_TOKEN = "Set telemetry.metrics.token to read the metrics from another machine or through a proxy.";

/** `GET /metrics`: for whoever has the token of `telemetry.metrics`; without such a token, for this machine alone. */
export class MetricsRoute {
  /** Checks the token of its own; never the gateway's or a hook's. */
  readonly #guard: ApiGuard;
  readonly #router: ApiRouter;
  #hasToken: boolean;

  constructor({ config, endpoint, clock }: MetricsRouteOptions) {
    this.#guard = new ApiGuard(guardConfig(config), { clock });
    this.#hasToken = config.telemetry.metricsTokens.length > 0;
    const endpoints = { [METRICS_PATH.slice(1)]: endpoint };
    this.#router = new ApiRouter({ prefix: "", endpoints, admit: (req, res) => this.#admit(req, res) });
  }

  configure(config: GatewayConfig): void {
    this.#guard.configure(guardConfig(config));
    this.#hasToken = config.telemetry.metricsTokens.length > 0;
  }

  route(): HttpRoute {
    return { path: METRICS_PATH, match: "exact", handler: (req, res) => this.#router.handle(req, res) };
  }

  #admit(req: IncomingMessage, res: ServerResponse): boolean {
    if (this.#hasToken) return this.#guard.admit(req, res);
    if (isOfThisMachine(req)) return true;
    sendError(res, "UNAUTHORIZED", { message: NEEDS_TOKEN, headers: { "www-authenticate": "Bearer" } });
    return false;
  }
}

function guardConfig({ gateway, telemetry }: GatewayConfig) {
  return { authTokens: telemetry.metricsTokens, trustedProxies: gateway.trustedProxies };
}

/** A proxy on this machine passes on what comes from others; a page of another site does not know this machine's names. */
function isOfThisMachine(req: IncomingMessage): boolean {
  const { remoteAddress } = req.socket;
  const isLoopback = remoteAddress !== undefined && ipaddr.process(remoteAddress).range() === "loopback";
  const isForwarded = ["forwarded", "via", "x-forwarded-for", "x-real-ip"].some((name) => name in req.headers);
  return isLoopback && !isForwarded && isKnownHost(req, { behindProxy: false });
}
