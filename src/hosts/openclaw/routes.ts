import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRoute, HttpRouter, Logger } from "../../core/host.ts";
import type { OpenClawSdk, PluginHttpRoute } from "./sdk.ts";
import type { PlaceholderRoute } from "./placeholder-route.ts";

export interface OpenClawRoutesOptions {
  readonly pluginId: string;
  /** The source from which the host loaded the plugin. */
  readonly source: string;
  readonly register: OpenClawSdk["registerPluginHttpRoute"];
  readonly logger: Logger;
  /** The route that the host has from the registration of the plugin on; a table that has its path serves its calls. */
  readonly placeholder?: PlaceholderRoute | undefined;
  /** Routes of the adapter itself, which the host authenticates. */
  readonly guarded?: readonly HttpRoute[];
}

/**
 * The routes of one host: those of the plugins, who authenticate what arrives, and those behind the host's
 * own authentication. The host knows the paths only; which route takes a request is decided here,
 * by the path as sent, since the host decodes it first.
 */
export class OpenClawRoutes {
  readonly #options: OpenClawRoutesOptions;
  /** The registered routes, by path. */
  readonly #mounted = new Map<string, () => void>();
  readonly #guarded: (() => void)[] = [];
  #table: RouteTable | undefined;

  /** Throws when the host does not give a guarded path to it. */
  constructor(options: OpenClawRoutesOptions) {
    this.#options = options;
    const { guarded = [] } = options;
    try {
      for (const route of guarded) {
        const handler: PluginHttpRoute["handler"] = (req, res) => this.#answer(route, req, res);
        this.#guarded.push(this.#register({ path: route.path, auth: "gateway", handler, replaceExisting: true }));
      }
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Paths of plugins that are served. */
  get paths(): readonly string[] {
    return [...this.#mounted.keys()];
  }

  /**
   * Takes a path from the host that the next table is going to have; returns what gives it back unless it has come
   * into use. Throws when the host does not give it.
   */
  reserve(path: string): () => void {
    if (this.#mounted.has(path)) return () => {};
    this.#mounted.set(path, this.#mount(path));
    return () => {
      if (this.#table?.paths().includes(path) !== true) this.#unmount(path);
    };
  }

  /** Serves by this table from now on. Throws when the host does not give a path to it; the one before stays then. */
  use(table: RouteTable): void {
    const added: string[] = [];
    try {
      for (const path of table.paths()) {
        if (this.#mounted.has(path)) continue;
        this.#mounted.set(path, this.#mount(path));
        added.push(path);
      }
    } catch (error) {
      for (const path of added) this.#unmount(path);
      throw error;
    }
    this.#table = table;
    const paths = new Set(table.paths());
    for (const path of this.paths) if (!paths.has(path)) this.#unmount(path);
  }

  close(): void {
    this.#table = undefined;
    for (const path of this.paths) this.#unmount(path);
    for (const unregister of this.#guarded.splice(0)) unregister();
  }

  #mount(path: string): () => void {
    const { placeholder: standing } = this.#options;
    const handler: PluginHttpRoute["handler"] = (req, res) => this.#handle(req, res);
    if (standing?.path !== path) return this.#register({ path, auth: "plugin", handler, replaceExisting: true });
    // The host says so when the path is another plugin's after all; the standing route stays in its place.
    const unregister = this.#register({ path, auth: "plugin", handler, reuseExistingSameOwner: true });
    standing.serve(handler);
    return () => {
      standing.serve(undefined);
      unregister();
    };
  }

  #register(
    route: Pick<PluginHttpRoute, "path" | "auth" | "handler" | "replaceExisting" | "reuseExistingSameOwner">,
  ): () => void {
    const { pluginId, source, register } = this.#options;
    return register({ ...route, match: "prefix", pluginId, source, throwOnFailure: true });
  }

  #unmount(path: string): void {
    this.#mounted.get(path)?.();
    this.#mounted.delete(path);
  }

  /** False when the request is no one's here: the host answers it then. */
  async #handle(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const [pathname = ""] = (req.url ?? "").split("?", 1);
    const route = this.#table?.find(pathname);
    if (route === undefined) return false;
    return this.#answer(route, req, res);
  }

  async #answer(route: HttpRoute, req: IncomingMessage, res: ServerResponse): Promise<true> {
    try {
      await route.handler(req, res);
    } catch (error) {
      this.#options.logger.error({ err: error, path: route.path }, "a request failed");
      if (res.headersSent) res.destroy();
      else res.writeHead(500, { "content-type": "text/plain", connection: "close" }).end("Internal Server Error");
    }
    return true;
  }
}

/** One routing table: filled once, then only read. An exact route wins, then the longest prefix. */
export class RouteTable implements HttpRouter {
  readonly #routes: HttpRoute[] = [];

  /** Throws when the same path and match is taken. */
  register(route: HttpRoute): void {
    if (this.#routes.some(({ path, match }) => path === route.path && match === route.match)) {
      throw new Error(`The ${route.match} route ${route.path} is registered already; choose another path.`);
    }
    this.#routes.push(route);
    this.#routes.sort((a, b) => b.path.length - a.path.length);
  }

  paths(): readonly string[] {
    return [...new Set(this.#routes.map(({ path }) => path))];
  }

  find(pathname: string): HttpRoute | undefined {
    return (
      this.#routes.find(({ path, match }) => match === "exact" && path === pathname) ??
      this.#routes.find(({ path, match }) => match === "prefix" && isBelow(pathname, path))
    );
  }
}

function isBelow(pathname: string, prefix: string): boolean {
  return pathname === prefix || pathname.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);
}
