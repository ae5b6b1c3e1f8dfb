import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";
import { ApiRouter } from "../../../api/router.ts";
import type { ApiEndpoint } from "../../../api/endpoint.ts";
import { sendError } from "../../../api/errors.ts";
import { isKnownHost } from "../../../console/request-checks.ts";
import type { HttpRoute } from "../../../core/host.ts";
import type { GatewayConfig } from "../config/file.ts";
import type { ApiGuard } from "./api.ts";
import { METRICS_PATH } from "./routing-table.ts";

export interface MetricsRouteOptions {
  readonly endpoint: ApiEndpoint;
  /** Checks the token of its own; never the gateway's or a hook's. */
  readonly guard: ApiGuard;
  readonly hasToken: () => boolean;
}

/** What the guard of the metrics compares. */
export function metricsGuardConfig({ gateway, telemetry }: GatewayConfig) {
  return { authTokens: telemetry.metricsTokens, trustedProxies: gateway.trustedProxies };
}

const NEEDS_TOKEN = "Set telemetry.metrics.token to read the metrics from another machine or through a proxy.";

/** `GET /metrics`: for whoever has the token of `telemetry.metrics`; without such a token, for this machine alone. */
export function metricsRoute({ endpoint, guard, hasToken }: MetricsRouteOptions): HttpRoute {
  const router = new ApiRouter({
    prefix: "",
    endpoints: { [METRICS_PATH.slice(1)]: endpoint },
    admit: (req, res) => {
      if (!hasToken()) {
        if (isOfThisMachine(req)) return true;
        sendError(res, "UNAUTHORIZED", { message: NEEDS_TOKEN, headers: { "www-authenticate": "Bearer" } });
        return false;
      }
      return guard.admit(req, res);
    },
  });
  return { path: METRICS_PATH, match: "exact", handler: (req, res) => router.handle(req, res) };
}

/** A proxy on this machine passes on what comes from others; a page of another site does not know this machine's names. */
function isOfThisMachine(req: IncomingMessage): boolean {
  const { remoteAddress } = req.socket;
  const isLoopback = remoteAddress !== undefined && ipaddr.process(remoteAddress).range() === "loopback";
  const isForwarded = ["forwarded", "via", "x-forwarded-for", "x-real-ip"].some((name) => name in req.headers);
  return isLoopback && !isForwarded && isKnownHost(req, { behindProxy: false });
}
