/** `/mcp`: the gateway as an MCP server, for whoever has a token of `gateway.mcp`. */
import type { IncomingMessage } from "node:http";
import Type from "typebox";
import type { EventMethods } from "../../../api/mcp-events.ts";
import { McpEndpoint } from "../../../api/mcp-server.ts";
import { type McpTool, mcpTools, tool } from "../../../api/mcp-tools.ts";
import { sendError } from "../../../api/errors.ts";
import { compileTokens } from "../../../auth/token.ts";
import { isKnownHost } from "../../../console/request-checks.ts";
import type { Clock, HttpRoute, Logger } from "../../../core/host.ts";
import type { GatewayConfig } from "../config/file.ts";
import { ApiGuard } from "./guard.ts";
import { MCP_PATH } from "./routing-table.ts";
import type { GatewaySources } from "./sessions-api.ts";

interface McpRouteOptions {
  readonly config: GatewayConfig;
  readonly sources: GatewaySources;
  readonly events: EventMethods;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Its tokens change with the configuration; without any there is nothing at its path. */
export class McpRoute {
  readonly #guard: ApiGuard;
  readonly #endpoint: McpEndpoint;
  #writers = compileTokens([], { tokenHeader: "" });
  #isOn = false;

  constructor({ config, sources, events, clock, logger }: McpRouteOptions) {
    this.#guard = new ApiGuard(guardConfig(config), { clock });
    this.#endpoint = new McpEndpoint({ tools: [...mcpTools(sources), approvals(sources)], events, logger });
    this.configure(config);
  }

  configure(config: GatewayConfig): void {
    const { readTokens, writeTokens } = config.gateway.mcp;
    this.#isOn = readTokens.length + writeTokens.length > 0;
    this.#guard.configure(guardConfig(config));
    this.#writers = compileTokens(writeTokens, { tokenHeader: "" });
  }

  route(): HttpRoute {
    return {
      path: MCP_PATH,
      match: "exact",
      handler: async (req, res) => {
        if (!this.#isOn) return sendError(res, "NOT_FOUND");
        if (!this.#guard.admit(req, res)) return;
        if (!this.#isFromProgram(req)) return sendError(res, "CROSS_SITE");
        await this.#endpoint.handle(req, res, this.#writers.check(req) === undefined ? "read" : "write");
      },
    };
  }

  /** A browser names the page's site: one of another site, or of a name that leads to this machine, has no business here. */
  #isFromProgram(req: IncomingMessage): boolean {
    const { origin, host } = req.headers;
    if (origin === undefined) return true;
    const isOwn = origin === `http://${host}` || origin === `https://${host}`;
    return isOwn && isKnownHost(req, { behindProxy: this.#guard.behindProxy });
  }
}

function guardConfig({ gateway: { mcp, trustedProxies } }: GatewayConfig) {
  return { authTokens: [...mcp.readTokens, ...mcp.writeTokens], trustedProxies };
}

function approvals({ approvals: questions }: GatewaySources): McpTool {
  return tool({
    name: "list_approvals",
    description: "Lists the questions of agents that wait for the owner's answer. Only a person answers them.",
    input: Type.Object({}, { additionalProperties: false }),
    call: async () => ({ approvals: await questions.list() }),
  });
}
