import type { IncomingMessage, ServerResponse } from "node:http";
import type { OpenClawApi, PluginHttpRoute } from "./sdk.ts";
import { pathConflict } from "./plugin-block.ts";
import { hooksPath } from "./plugin-block.ts";
import { isPluginEnabled, pluginBlock } from "./read-config.ts";

export interface PlaceholderRouteOptions {
  readonly pluginId: string;
  /** The configuration that the plugins see for the owner's. */
  readonly block: (written: unknown) => unknown;
}

type Handler = PluginHttpRoute["handler"];

/**
 * The route at the prefix of the hooks that the host has for as long as it has the plugin: it stands before the service
 * is up, when it cannot start and after it was stopped. Calls are answered 503 `NOT_READY` then, so that they come
 * again. The host alone would say 404, for which some senders give up on a hook.
 */
export class PlaceholderRoute {
  readonly path: string;
  readonly #isConfigured: () => boolean;
  #handler: Handler | undefined;

  private constructor(path: string, isThere: () => boolean) {
    this.path = path;
    this.#isConfigured = isThere;
  }

  /** To be called while the host registers the plugin; `undefined` when its configuration has no hooks. */
  static register(api: OpenClawApi, { pluginId, block }: PlaceholderRouteOptions): PlaceholderRoute | undefined {
    const { config } = api;
    if (config === undefined || api.registerHttpRoute === undefined) return undefined;
    const written = block(pluginBlock(config, pluginId));
    const path = hooksPath(written);
    if (path === undefined || pathConflict(written, config, pluginId) !== undefined) return undefined;
    const route = new PlaceholderRoute(path, () => {
      const now = api.runtime.config.current();
      return isPluginEnabled(now, pluginId) && hooksPath(block(pluginBlock(now, pluginId))) === path;
    });
    api.registerHttpRoute({ path, match: "prefix", auth: "plugin", handler: (req, res) => route.#answer(req, res) });
    return route;
  }

  /** Gives the calls to a service; `undefined` takes them back. */
  serve(handler: Handler | undefined): void {
    this.#handler = handler;
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    if (this.#handler !== undefined) return this.#handler(req, res);
    if (!this.#mayBeConfigured()) return false;
    const { sendNotReady } = await import("./send-not-ready.ts");
    sendNotReady(req, res);
    return true;
  }

  /** The configuration may have moved the hooks since. A host that gives none to a plugin that it replaces has them. */
  #mayBeConfigured(): boolean {
    try {
      return this.#isConfigured();
    } catch {
      return true;
    }
  }
}
