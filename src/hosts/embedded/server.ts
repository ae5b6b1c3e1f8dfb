/** The HTTP server of the embedded gateway. */
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "../../core/host.ts";
import { refuseBrokenRequest, refuseConnection } from "./server/errors.ts";
import { continueOnRead } from "./server/response.ts";
import { sendError } from "../../api/errors.ts";
import { GatewayResponse, responseOn } from "./server/response.ts";
import { ListenError } from "./errors.ts";
import { requestPath } from "./server/routing-table.ts";
import type { RoutingTable } from "./server/routing-table.ts";

type Routes = Pick<RoutingTable, "find">;

export interface GatewayServerOptions {
  /** The address to bind. */
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly routes: Routes;
  readonly logger: Logger;
  readonly limits?: Partial<ServerLimits>;
}

export interface ServerLimits {
  /** Over it the answer is 431. */
  readonly maxHeaderBytes: number;
  /** For the headers of a request; over it the answer is 408. */
  readonly headersTimeoutMs: number;
  /** For a whole request, body included; routes that read bodies have a shorter one of their own. */
  readonly requestTimeoutMs: number;
  /** For the next request on a connection that is kept alive. */
  readonly keepAliveTimeoutMs: number;
  /** Interval of the check for requests that have timed out. */
  readonly checkIntervalMs: number;
}

const defaultLimits: ServerLimits = {
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 20_000,
  requestTimeoutMs: 300_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 5_000,
};

const POLL_MS = 10;
/** Turns of the event loop without a caller, after which no other is expected. */
const QUIET_TURNS = 3;
/** The same for a burst. */
const QUIET_MS = 25;
/** The longest wait for the end of a burst, and for the first bytes of a new connection. */
const MAX_BURST_MS = 500;
/** Time that callers who are answered 503 have to read it. */
const LAST_ANSWERS_MS = 1_000;

/**
 * Listens, finds the route of each request and calls its handler with the body unread.
 *
 * Requests that cannot be routed or parsed are answered here: 400, 404, 408, 417, 431; 500 for a handler
 * that throws; 503 while shutting down. No request and no handler can end the process.
 */
export class GatewayServer {
  readonly #server: Server<typeof IncomingMessage, typeof GatewayResponse>;
  readonly #logger: Logger;
  /** The open connections, each with the time when it came. */
  readonly #sockets = new Map<Socket, number>();
  #routes: Routes;
  /** Handlers in progress; one may outlive its connection. */
  #handling = 0;
  #isStopping = false;
  /** Connections and refused requests since the start: a count that moves while callers still arrive. */
  #arrivals = 0;
  /** Requests that are being answered 503, since the server stops. */
  #refusals = 0;

  /** Binds and listens. Rejects with a {@link ListenError} when the address cannot be had. */
  static async listen(options: GatewayServerOptions): Promise<GatewayServer> {
    const server = new GatewayServer(options);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", (error) => {
        reject(new ListenError(options, error));
      });
      server.#server.listen({ host: options.host, port: options.port }, resolve);
    });
    server.#server.removeAllListeners("error");
    server.#server.on("error", (error) => {
      options.logger.error({ err: error }, "the HTTP server reported an error");
    });
    return server;
  }

  private constructor({ routes, logger, limits }: GatewayServerOptions) {
    const limit = { ...defaultLimits, ...limits };
    this.#routes = routes;
    this.#logger = logger;
    this.#server = createServer({
      ServerResponse: GatewayResponse,
      maxHeaderSize: limit.maxHeaderBytes,
      headersTimeout: limit.headersTimeoutMs,
      requestTimeout: limit.requestTimeoutMs,
      keepAliveTimeout: limit.keepAliveTimeoutMs,
      connectionsCheckingInterval: limit.checkIntervalMs,
      noDelay: true,
    });
    // A client may close its side right after its request, and still gets the answer. Node's types lack the property.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on("request", this.#handle);
    this.#server.on("checkContinue", (req, res) => {
      continueOnRead(req, res);
      this.#handle(req, res);
    });
    this.#server.on("checkExpectation", (_req, res) => {
      sendError(res, "EXPECTATION_FAILED", { headers: { connection: "close" } });
    });
    this.#server.on("clientError", refuseBrokenRequest);
    // Without a listener for upgrades Node answers such requests as plain ones, which refuses the upgrade.
    this.#server.on("connect", (_req, socket) => {
      refuseConnection(socket, "METHOD_NOT_ALLOWED");
    });
    this.#server.on("connection", (socket) => {
      this.#arrivals++;
      this.#sockets.set(socket, performance.now());
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** The port that was bound. */
  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The server is not listening.");
    return address.port;
  }

  /** Activates a new routing table; requests in progress keep the handler they have. */
  use(routes: Routes): void {
    this.#routes = routes;
  }

  /** Answers 503 to new requests, also on new connections: a port that is closed would reset those. */
  stopAccepting(): void {
    this.#isStopping = true;
  }

  /**
   * Stops permanently: handlers and answers in progress may finish within `graceMs`, then every connection is cut.
   * Resolves when the last one is closed.
   */
  async close(graceMs: number): Promise<void> {
    this.stopAccepting();
    const deadline = performance.now() + graceMs;
    while (performance.now() < deadline && (this.#handling > 0 || this.#isAnswering())) await after(POLL_MS);
    await this.#untilQuiet();
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    const lastAnswers = performance.now() + LAST_ANSWERS_MS;
    while (performance.now() < lastAnswers && this.#refusals > 0) await after(POLL_MS);
    this.#server.closeAllConnections();
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
  }

  /**
   * Waits until callers no longer arrive, for a bounded time. The system has accepted connections that this
   * process has not seen yet, and resets them when the port is closed. A caller who has just connected is about to send.
   */
  async #untilQuiet(): Promise<void> {
    const end = performance.now() + MAX_BURST_MS;
    let seen: number;
    let isExpecting: boolean;
    do {
      seen = this.#arrivals;
      // A turn of the event loop accepts and reads all that has arrived; a burst of callers arrives in waves.
      for (let turn = 0; turn < QUIET_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
      isExpecting = this.#isExpecting();
      if (this.#refusals > 0 || this.#arrivals !== seen || isExpecting) await after(QUIET_MS);
    } while (performance.now() < end && (this.#arrivals !== seen || isExpecting));
  }

  #isExpecting(): boolean {
    const earliest = performance.now() - MAX_BURST_MS;
    return this.#sockets.entries().some(([socket, since]) => since > earliest && socket.bytesRead === 0);
  }

  #isAnswering(): boolean {
    for (const socket of this.#sockets.keys()) {
      // Bytes that are written but not yet taken by the network count as well.
      if (responseOn(socket) !== undefined || socket.writableLength > 0) return true;
    }
    return false;
  }

  readonly #handle = (req: IncomingMessage, res: GatewayResponse): void => {
    if (this.#isStopping) {
      this.#arrivals++;
      this.#refusals++;
      res.once("close", () => this.#refusals--);
      sendError(res, "SHUTTING_DOWN", { headers: { "retry-after": 1, connection: "close" } });
      return;
    }
    const route = this.#routes.find(requestPath(req));
    if (route === undefined) {
      sendError(res, "NOT_FOUND");
      return;
    }
    try {
      const handled = route.handler(req, res);
      if (handled !== undefined) void this.#follow(handled, route.path, res);
    } catch (error) {
      this.#failed(route.path, res, error);
    }
  };

  async #follow(handled: PromiseLike<void>, path: string, res: GatewayResponse): Promise<void> {
    this.#handling++;
    try {
      await handled;
    } catch (error) {
      this.#failed(path, res, error);
    } finally {
      this.#handling--;
    }
  }

  #failed(path: string, res: GatewayResponse, error: unknown): void {
    this.#logger.error({ err: error, route: path }, "the handler of a route threw");
    if (res.headersSent) {
      res.destroy();
      return;
    }
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    sendError(res, "INTERNAL");
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The URL under which this machine itself reaches a server that listens at `host`. */
export function localUrl(host: string, port: number): string {
  const reachable = reachableFrom.get(host) ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** An address for each that represents all of the machine's. */
const reachableFrom: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);
