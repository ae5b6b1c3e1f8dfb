/** The public URL of the hooks: a listener of their own on loopback, and the tool that passes calls to it. */
import { setTimeout as sleep } from "node:timers/promises";
import { reasonLine } from "../../../core/reason-of.ts";
import type { Clock, HttpRouter, Logger } from "../../../core/host.ts";
import type { ExposeConfig } from "../config/expose.ts";
import type { Environment } from "../config/substitute-env.ts";
import { GatewayServer } from "../server.ts";
import type { RoutingTable } from "../server/routing-table.ts";
import { ExposedRoutes } from "./exposed-routes.ts";
import { REACHABILITY_PATH, Reachability } from "./reachability.ts";
import { rememberedUrl, rememberUrl } from "./remembered-url.ts";
import { runTool } from "./run-tool.ts";

export interface PublicAddressOptions {
  /** Absolute; exists. */
  readonly stateDir: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the public URL is another one than that of {@link PublicAddress.urlOf} before. */
  readonly onChange: () => void;
  /** Called with each URL that can be called from then on. */
  readonly onUrl?: ((url: string) => void) | undefined;
  readonly timings?: Partial<ToolTimings> | undefined;
}

/** The times of the tool's restarts. */
export interface ToolTimings {
  /** How long it may take for its URL. */
  readonly urlMs: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** One that ran so long has begins with the first delay again when it fails. */
  readonly steadyMs: number;
}

/** What the owner sees of it. */
export interface PublicAddressState {
  readonly via: ExposeConfig["via"];
  /** `null`: it has none now. */
  readonly url: string | null;
  /** Why it has none. */
  readonly problem: string | null;
}

const TIMINGS: ToolTimings = { urlMs: 60_000, firstDelayMs: 1_000, maxDelayMs: 60_000, steadyMs: 60_000 };
const HOST = "127.0.0.1";
/** What answers in progress have when the listener changes while the gateway runs. */
const CHANGE_GRACE_MS = 5_000;

/** Keeps the tool running while the configuration asks for it. */
export class PublicAddress {
  readonly #options: PublicAddressOptions;
  readonly #timings: ToolTimings;
  readonly #routes = new ExposedRoutes();
  readonly #reachability: Reachability;
  #config: ExposeConfig | undefined;
  #server: GatewayServer | undefined;
  #url: string | undefined;
  /** The one before the tool failed. */
  #lastUrl: string | undefined;
  #problem: string | undefined;
  #abort = new AbortController();
  #keeping: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(options: PublicAddressOptions) {
    this.#options = options;
    this.#timings = { ...TIMINGS, ...options.timings };
    this.#reachability = new Reachability(options.clock);
  }

  /** `undefined` without `gateway.expose`. */
  get state(): PublicAddressState | undefined {
    if (this.#config === undefined) return undefined;
    return { via: this.#config.via, url: this.#url ?? null, problem: this.#problem ?? null };
  }

  /** What `hooks.publicUrl` is without one that is written. */
  urlOf(expose: ExposeConfig | undefined): string | undefined {
    if (expose === undefined) return undefined;
    return (isSame(expose, this.#config) ? this.#lastUrl : undefined) ?? rememberedUrl(this.#options.stateDir, expose);
  }

  ask(): ReturnType<Reachability["ask"]> {
    return this.#reachability.ask();
  }

  /** Registers what answers the questions of {@link ask}. */
  route(router: HttpRouter, hooksPath: string): void {
    router.register({
      path: `${hooksPath}${REACHABILITY_PATH}`,
      match: "prefix",
      handler: (req, res) => this.#reachability.handle(req, res),
    });
  }

  /** Exposes a table that has just become active, and keeps the tool of its configuration running. */
  use(routes: RoutingTable, hooksPath: string, expose: ExposeConfig | undefined): void {
    if (expose !== undefined) this.#routes.use(routes, [hooksPath, `${hooksPath}${REACHABILITY_PATH}`], expose);
    if (this.#isStopping || isSame(expose, this.#config)) return;
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#config = expose;
    this.#url = undefined;
    this.#lastUrl = undefined;
    this.#problem = expose && "the tool is being started";
    const { signal } = this.#abort;
    this.#keeping = this.#keeping.then(async () => {
      await this.#server?.close(CHANGE_GRACE_MS);
      this.#server = undefined;
      if (expose !== undefined) await this.#keep(expose, signal);
    });
  }

  /** Answers 503 to what the tool still passes on. */
  stopAccepting(): void {
    this.#isStopping = true;
    this.#server?.stopAccepting();
  }

  /** Ends the tool and what it started, after the answers in progress. */
  async close(graceMs: number): Promise<void> {
    this.stopAccepting();
    const server = this.#server;
    await server?.close(graceMs);
    this.#abort.abort();
    await this.#keeping;
    // One that was being opened.
    if (this.#server !== server) await this.#server?.close(0);
  }

  async #keep(config: ExposeConfig, signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted && !this.#isStopping) {
      const startMs = performance.now();
      const problem = await this.#run(config, signal);
      if (signal.aborted || this.#isStopping) return;
      failures = performance.now() - startMs >= this.#timings.steadyMs ? 1 : failures + 1;
      this.#report(config, problem);
      const delayMs = Math.min(this.#timings.maxDelayMs, this.#timings.firstDelayMs * 2 ** (failures - 1));
      await sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Resolves with the reason why there is no tool any more. */
  async #run(config: ExposeConfig, signal: AbortSignal): Promise<string> {
    const { stateDir, env, logger } = this.#options;
    try {
      const at = { host: HOST, port: config.port, routes: this.#routes, logger };
      this.#server ??= await GatewayServer.listen(at);
    } catch (error) {
      return `nothing can listen for gateway.expose: ${reasonLine(error)}`;
    }
    if (signal.aborted || this.#isStopping) return "the gateway stops";
    const { port } = this.#server;
    const target = { port, url: `http://${HOST}:${port}` };
    const { urlMs } = this.#timings;
    const onUrl = (url: string): void => void this.#found(config, url);
    return runTool({ config, target, stateDir, env, urlMs, onUrl, signal });
  }

  async #found(config: ExposeConfig, url: string): Promise<void> {
    const { stateDir, logger, onChange, onUrl } = this.#options;
    const before = this.urlOf(config);
    this.#url = url;
    this.#lastUrl = url;
    this.#problem = undefined;
    logger.info({ url, via: config.via }, "the hooks have a public URL");
    onUrl?.(url);
    if (url === before) return;
    if (before !== undefined && !before.endsWith(".invalid")) {
      logger.warn({ url, before }, "the public URL is another one than before: give it to each sender");
    }
    try {
      await rememberUrl(stateDir, config, url);
    } catch (error) {
      logger.warn({ err: error }, "the public URL could not be kept for the next start");
    }
    onChange();
  }

  /** The same again and again is one warning. */
  #report({ via }: ExposeConfig, problem: string): void {
    const { logger } = this.#options;
    if (problem !== this.#problem) logger.warn({ via, problem }, "the hooks have no public URL; it is tried again");
    this.#url = undefined;
    this.#problem = problem;
  }
}

function isSame(one: ExposeConfig | undefined, other: ExposeConfig | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
