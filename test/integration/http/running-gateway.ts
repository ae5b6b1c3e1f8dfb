import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryDetail, DeliverySummary } from "../../../src/core/delivery.ts";
import type { ReloadOutcome } from "../../../src/hosts/embedded/config/reload.ts";
import { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import type { GatewayPlugin } from "../../../src/core/host.ts";
import type { DeliveryPage } from "../../../src/storage/delivery-store.ts";
import { recordingLogger } from "../../unit/hosts/embedded/server/recording-logger.ts";
import { HttpConnection, wireRequest } from "./http-connection.ts";
import type { WireAnswer, WireRequest } from "./http-connection.ts";

export const HOOK_TOKEN = "hook-token-of-the-http-tests";
const GATEWAY_TOKEN = "gateway-token-of-the-http-tests";
/** The header line that lets a request in. */
export const AUTHORIZED = `Authorization: Bearer ${HOOK_TOKEN}`;

export interface GatewaySetup {
  /** Laid over `{ enabled, token }`. */
  readonly hooks?: object;
  /** Laid over `{ port, auth, shutdownSeconds }`. */
  readonly gateway?: object;
  /** Further sections of the file. */
  readonly config?: object;
  /** Contents by their path below `hooks/transforms`. */
  readonly transforms?: Readonly<Record<string, string>>;
  readonly plugins?: readonly GatewayPlugin[];
}

export interface HookAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The embedded gateway in this process on a folder of its own, with a clock that a test can set forward. */
export class RunningGateway implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "reveille-http-"));
  readonly logger = recordingLogger();
  readonly #setup: GatewaySetup;
  readonly #connections: HttpConnection[] = [];
  #gateway!: EmbeddedGateway;
  #aheadMs = 0;
  #stoppedAtMs: number | undefined;

  static async start(setup: GatewaySetup = {}): Promise<RunningGateway> {
    const running = new RunningGateway(setup);
    try {
      await running.#start();
    } catch (error) {
      rmSync(running.folder, { recursive: true, force: true, maxRetries: 5 });
      throw error;
    }
    return running;
  }

  private constructor(setup: GatewaySetup) {
    this.#setup = setup;
    this.writeHooks(setup.hooks ?? {});
    for (const [name, source] of Object.entries(setup.transforms ?? {})) this.writeTransform(name, source);
  }

  async #start(): Promise<void> {
    this.#gateway = await EmbeddedGateway.start({
      configFile: this.configFile,
      stateDir: join(this.folder, "state"),
      logger: this.logger,
      clock: { now: () => (this.#stoppedAtMs ?? Date.now()) + this.#aheadMs },
      plugins: this.#setup.plugins ?? [],
    });
  }

  get configFile(): string {
    return join(this.folder, "reveille.json5");
  }

  get url(): string {
    return this.#gateway.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** The file as it would be with these `hooks`. */
  configWith(hooks: object): object {
    const { gateway, config } = this.#setup;
    return {
      gateway: { port: 0, auth: { token: GATEWAY_TOKEN }, shutdownSeconds: 5, ...gateway },
      agents: { defaults: { heartbeat: { every: "0m" } } },
      ...config,
      hooks: { enabled: true, token: HOOK_TOKEN, ...hooks },
    };
  }

  writeHooks(hooks: object): void {
    this.writeFile(JSON.stringify(this.configWith(hooks)));
  }

  writeFile(text: string): void {
    writeFileSync(this.configFile, text, { mode: 0o600 });
  }

  writeTransform(name: string, source: string): void {
    const file = join(this.folder, "hooks", "transforms", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, source);
  }

  reload(): Promise<ReloadOutcome> {
    return this.#gateway.reload();
  }

  stop(): Promise<void> {
    return this.#gateway.stop();
  }

  /** Stops it and starts another one on the same folder. */
  async restart(): Promise<void> {
    await this.stop();
    await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Stops the gateway's clock, so that it moves only when a test sets it forward. */
  stopClock(): void {
    this.#stoppedAtMs = Date.now();
  }

  /** Sets the gateway's clock forward. */
  advance(ms: number): void {
    this.#aheadMs += ms;
  }

  async connect(): Promise<HttpConnection> {
    const connection = await HttpConnection.open(this.port);
    this.#connections.push(connection);
    return connection;
  }

  /** Sends one request on a connection of its own and gives the first answer. */
  async send(request: WireRequest): Promise<WireAnswer> {
    const connection = await this.connect();
    if (request.method === "HEAD") connection.expectHeadAnswers();
    connection.send(wireRequest(request));
    const answer = await connection.answer();
    connection.destroy();
    return answer;
  }

  /** Calls a hook as an ordinary client does, with the hook token unless the headers say otherwise. */
  async post(path: string, payload: unknown, headers: Readonly<Record<string, string>> = {}): Promise<HookAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json", ...headers },
      body: typeof payload === "string" ? payload : JSON.stringify(payload),
    });
    const text = await response.text();
    const body = (text === "" ? {} : JSON.parse(text)) as HookAnswer["body"];
    return { status: response.status, headers: response.headers, text, body };
  }

  /** Reads a path of the gateway's API; with a body, posts it there. */
  async api<Result>(path: string, body?: object): Promise<Result> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${GATEWAY_TOKEN}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Result;
  }

  /** The newest 200 deliveries, newest first. */
  async deliveries(): Promise<readonly DeliverySummary[]> {
    return (await this.api<{ deliveries: DeliverySummary[] }>("/deliveries?limit=200")).deliveries;
  }

  /** All deliveries that repeat no other, newest first. */
  async firsts(): Promise<readonly DeliverySummary[]> {
    const found: DeliverySummary[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: DeliveryPage = await this.api(`/deliveries?limit=200${cursor && `&cursor=${cursor}`}`);
      found.push(...page.deliveries.filter(({ state }) => state !== "duplicate"));
      cursor = page.nextCursor;
    }
    return found;
  }

  delivery(id: unknown): Promise<DeliveryDetail> {
    return this.api(`/deliveries/${String(id)}`);
  }

  /** Waits until a delivery has ended. */
  async ended(id: unknown): Promise<DeliveryDetail> {
    for (;;) {
      const delivery = await this.delivery(id);
      if (delivery.state !== "queued" && delivery.state !== "running") return delivery;
      await sleep(10);
    }
  }

  /** What was logged as an error, each line with the error or the reason it carries. */
  get errors(): string[] {
    return this.logger.lines
      .filter(({ level }) => level === "error")
      .map(({ message, fields: { err, reason } }) => {
        const why = err instanceof Error ? err.message : reason;
        return typeof why === "string" ? `${message}: ${why}` : message;
      });
  }
}
