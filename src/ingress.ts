import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { openDeliveredKeys } from "./auth/keys/delivered-keys.ts";
import { SENDER_KEYS_FILE } from "./auth/keys/sender-keys-file.ts";
import { createRemoteKeys } from "./auth/keys/remote-keys.ts";
import { Dispatcher } from "./dispatch/dispatcher.ts";
import { prepareGeneration } from "./generation.ts";
import type { Generation, GenerationOptions } from "./generation.ts";
import type { IngressHooks } from "./hooks.ts";
import type { ConfigSnapshot, GatewayHost, HttpRouter, ShutdownDeadline } from "./host.ts";
import { ByteBudget } from "./http/byte-budget.ts";
import { InFlight } from "./http/in-flight.ts";
import { answerRefusal } from "./http/respond.ts";
import type { Answer } from "./http/respond.ts";
import { sendAnswer } from "./http/send-answer.ts";
import { refuse } from "./errors.ts";
import { answerRequest } from "./pipeline.ts";
import { observe } from "./stages/ingress-context.ts";
import type { IngressContext } from "./stages/ingress-context.ts";
import { RefusalLog } from "./stages/refusal-log.ts";
import { StoreError } from "./store/delivery-store.ts";
import type { DeliveryStore } from "./store/delivery-store.ts";

/** Requests under way at once from which on accepting comes before dispatching. */
const BUSY_FROM = 16;

/**
 * The ingress of one host: owns the store, the dispatcher and the generation in force, and hands
 * each request to the pipeline with them.
 */
export class Ingress {
  readonly #host: GatewayHost;
  readonly #hooks: IngressHooks;
  readonly #openStore: () => Promise<DeliveryStore>;
  readonly #inFlight = new InFlight({
    limit: () => this.#generation?.config.maxInFlight ?? 0,
  });
  readonly #unverifiedBytes = new ByteBudget({
    limit: () => this.#generation?.config.maxUnverifiedBytes ?? 0,
  });
  #generation: Generation | undefined;
  #keys: GenerationOptions["keys"] | undefined;
  #running: IngressContext | undefined;
  #closing = false;

  constructor(host: GatewayHost, options: { hooks: IngressHooks; openStore: () => Promise<DeliveryStore> }) {
    this.#host = host;
    this.#hooks = options.hooks;
    this.#openStore = options.openStore;
  }

  /** The store, once the first configuration has been loaded. */
  get store(): DeliveryStore {
    if (!this.#running) throw new StoreError("CLOSED", "The ingress has not been started.");
    return this.#running.store;
  }

  /** `onConfigLoad`: prepares the snapshot's generation; commits swap it in. */
  async load(snapshot: ConfigSnapshot): Promise<void> {
    const generation = await prepareGeneration(snapshot, {
      host: this.#host,
      hooks: this.#hooks,
      keys: (this.#keys ??= await this.#openKeys()),
      previous: this.#generation,
    });
    this.#running ??= await this.#open();
    snapshot.onCommit(() => this.#commit(generation));
  }

  /** `onHttpRoute`: the hooks' prefix, as the generation in force has it. */
  route(router: HttpRouter): void {
    const generation = this.#generation;
    if (!generation?.config.enabled) return;
    router.register({
      path: generation.config.path,
      match: "prefix",
      handler: (req, res) => this.#handle(req, res),
    });
  }

  /** `onShutdown`: refuses requests from now on and lets runs finish until the deadline. */
  async shutdown({ deadlineMs }: ShutdownDeadline): Promise<void> {
    this.#closing = true;
    await this.#running?.dispatcher.stop(deadlineMs);
    await this.#running?.store.close();
    this.#keys?.remoteKeys.close();
  }

  async #open(): Promise<IngressContext> {
    const store = await this.#openStore();
    const dispatcher = new Dispatcher({
      store,
      host: this.#host,
      logger: this.#host.logger,
      clock: this.#host.clock,
      events: {
        dispatched: (event) => observe(this.#host, this.#hooks.dispatched, event),
        settled: (event) => observe(this.#host, this.#hooks.settled, event),
      },
      concurrency: () => this.#generation?.config.concurrency ?? 1,
      isBusy: () => this.#inFlight.count >= BUSY_FROM,
    });
    await dispatcher.recover();
    return {
      store,
      dispatcher,
      host: this.#host,
      hooks: this.#hooks,
      inFlight: this.#inFlight,
      unverifiedBytes: this.#unverifiedBytes,
      refusals: new RefusalLog({ clock: this.#host.clock }),
    };
  }

  async #openKeys(): Promise<GenerationOptions["keys"]> {
    const { clock, logger, paths } = this.#host;
    return {
      remoteKeys: createRemoteKeys({ clock, logger }),
      deliveredKeys: await openDeliveredKeys({ file: join(paths.stateDir, SENDER_KEYS_FILE), clock, logger }),
    };
  }

  #commit(generation: Generation): void {
    const isFirst = this.#generation === undefined;
    this.#generation = generation;
    for (const warning of generation.warnings) this.#host.logger.warn({ warning }, "hooks configuration");
    if (isFirst) this.#running?.dispatcher.start();
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const generation = this.#generation;
    if (this.#closing || !generation || !this.#running) {
      sendAnswer(req, res, answerRefusal(refuse("SHUTTING_DOWN")));
      return;
    }
    sendAnswer(req, res, await this.#answer(this.#running, generation, req));
  }

  /** A defect of ours or of a plugin refuses the request; the log says what it was. */
  async #answer(running: IngressContext, generation: Generation, req: IncomingMessage): Promise<Answer> {
    try {
      return await answerRequest(running, generation, req);
    } catch (error) {
      this.#host.logger.error({ err: error }, "a request failed");
      return answerRefusal(refuse("INTERNAL"));
    }
  }
}
