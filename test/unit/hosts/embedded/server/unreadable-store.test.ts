import { afterEach, describe, expect, it } from "vitest";
import { McpRoute } from "../../../../../src/hosts/embedded/server/mcp-route.ts";
import { MetricsRoute } from "../../../../../src/hosts/embedded/server/metrics-route.ts";
import { gatewayConfig } from "../state/temporary-gateway.ts";
import { ApiGuard } from "../../../../../src/hosts/embedded/server/guard.ts";
import { GatewayApi, gatewayEndpoints } from "../../../../../src/hosts/embedded/server/api.ts";
import type { GatewaySources } from "../../../../../src/hosts/embedded/server/sessions-api.ts";
import type { GatewayStatus } from "../../../../../src/hosts/embedded/status.ts";
import { GatewayServer } from "../../../../../src/hosts/embedded/server.ts";
import { RoutingTable } from "../../../../../src/hosts/embedded/server/routing-table.ts";
import { StoreError } from "../../../../../src/storage/delivery-store.ts";
import { recordingLogger } from "./recording-logger.ts";

const token = "gateway-token-of-these-tests";
const logger = recordingLogger();
let server: GatewayServer | undefined;

afterEach(async () => {
  await server?.close(0);
});

/** Serves an API whose database cannot be read. */
async function readFrom(error: Error, method = "GET", path = "deliveries"): Promise<Response> {
  const fail = (): never => {
    throw error;
  };
  const failLater = (): Promise<never> => Promise.reject(error);
  const sources = {
    sessions: { list: fail, messages: fail, pendingEvents: fail },
    channels: { outbox: fail },
    operations: () => ({ deliveries: { list: failLater, get: failLater }, hooks: { pause: failLater } }),
    clock: { now: () => Date.now() },
  } as unknown as GatewaySources;
  const guard = new ApiGuard({ authTokens: [token], trustedProxies: [] }, { clock: { now: () => Date.now() } });
  const routes = new RoutingTable();
  const status = {} as GatewayStatus;
  const own = { config: gatewayConfig(), clock: { now: () => Date.now() } };
  const metrics = new MetricsRoute({ ...own, endpoint: {} });
  const events = { isOffered: false, call: failLater };
  const mcp = new McpRoute({ ...own, sources, events, logger });
  new GatewayApi({ endpoints: gatewayEndpoints(sources, status), guard, status, metrics, mcp }).route(routes);
  server = await GatewayServer.listen({ host: "127.0.0.1", port: 0, routes, logger });
  const headers = { Authorization: `Bearer ${token}` };
  return await fetch(`http://127.0.0.1:${server.port}/api/v1/${path}`, { method, headers });
}

describe("the API, when the database cannot be read", () => {
  it("answers 503 while that may pass", async () => {
    for (const code of ["UNAVAILABLE", "CLOSED"] as const) {
      const response = await readFrom(new StoreError(code, "inner detail"));
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await response.json()).toMatchObject({ ok: false, code: "STORE_UNAVAILABLE" });
      await server?.close(0);
    }
  });

  it("answers 503 to a pause that could not be written", async () => {
    const response = await readFrom(new StoreError("UNAVAILABLE", "inner detail"), "POST", "hooks/build/pause");
    expect([response.status, await response.json()]).toMatchObject([503, { code: "STORE_UNAVAILABLE" }]);
  });

  it("answers 500 and logs the reason otherwise", async () => {
    const response = await readFrom(new TypeError("inner detail"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("inner detail");
    expect(String(logger.lines.at(-1)?.fields.err)).toContain("inner detail");
  });
});
