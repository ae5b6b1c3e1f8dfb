/** The console in the host: a page of the plugin's own, which only the host's authentication opens. */
import type { ApiEndpoints, ApiSources } from "../../api/endpoint.ts";
import { operatorEndpoints } from "../../api/operator-endpoints.ts";
import { readApiQuery } from "../../api/request.ts";
import { LiveEvents } from "../../console/live-events.ts";
import { ConsoleRoutes, type SignInGuard } from "../../console/routes.ts";
import type { GatewayHost } from "../../core/host.ts";
import { answerJson } from "../../http/answer.ts";
import { fieldsAt } from "./fields.ts";
import { operatorAccess } from "./read-config.ts";
import type { OpenClawConfig } from "./sdk.ts";

/** The path of the page, beside that of the API. */
export function consolePath(pluginId: string): string {
  return `/plugins/${pluginId}/console`;
}

export interface OpenClawConsoleOptions {
  readonly pluginId: string;
  readonly host: GatewayHost;
  readonly sources: ApiSources;
  readonly config: () => OpenClawConfig;
  /** Why the latest configuration was refused; `undefined` when it was not. */
  readonly refusal: () => string | undefined;
}

/**
 * Serves the page with the host's routes of plugins, which the host does not authenticate: a browser sends it no
 * token. Only a link signs in, and the endpoint that makes links is behind the host's authentication.
 */
export function applyConsole({ pluginId, host, sources, config, refusal }: OpenClawConsoleOptions): ConsoleRoutes {
  const events = new LiveEvents();
  events.apply(host);
  const console = new ConsoleRoutes({
    path: consolePath(pluginId),
    guard: new LinkGuard(config),
    endpoints: { ...operatorEndpoints(sources), ...statusEndpoint(refusal) },
    events,
    clock: host.clock,
    logger: host.logger,
  });
  host.lifecycle.onHttpRoute.tap("reveille console", (router) => console.route(router));
  host.lifecycle.onShutdown.tapPromise("reveille console", async () => events.close());
  return console;
}

/** What the page needs to know of the host; its disk and its sessions are the host's own affair. */
function statusEndpoint(refusal: OpenClawConsoleOptions["refusal"]): ApiEndpoints {
  return {
    status: {
      GET: ({ search }) => {
        readApiQuery(search, []);
        const message = refusal();
        const problems = message === undefined ? [] : [{ code: "CONFIG_REFUSED", message }];
        const unknown = { refused: null, freeDiskBytes: null, databaseBytes: null };
        return answerJson(200, { ready: true, hasSessions: false, problems, ...unknown });
      },
    },
  };
}

/** No token signs in: the host alone compares its own. */
class LinkGuard implements SignInGuard {
  readonly advice =
    "Sign in with a new link: openclaw reveille console prints one, which works once within 60 seconds.";
  readonly #config: () => OpenClawConfig;
  #auth = "";
  #generation = 0;

  constructor(config: () => OpenClawConfig) {
    this.#config = config;
  }

  /** Any change of the host's authentication ends every sign-in. */
  get generation(): number {
    const auth = JSON.stringify(fieldsAt(fieldsAt(this.#config(), "gateway"), "auth"));
    if (auth !== this.#auth) this.#generation++;
    this.#auth = auth;
    return this.#generation;
  }

  /** Then the host or its proxy checks the name under which it is reached. */
  get behindProxy(): boolean {
    const { mode, hosts } = operatorAccess(this.#config());
    return mode === "trusted-proxy" || hosts.length > 0;
  }

  checkToken(): "unauthorized" {
    return "unauthorized";
  }

  refuse(): "unauthorized" {
    return "unauthorized";
  }
}
