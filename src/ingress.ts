import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { openDeliveredKeys } from "./auth/keys/delivered-keys.ts";
import { SENDER_KEYS_FILE } from "./auth/keys/sender-keys-file.ts";
import { createRemoteKeys } from "./auth/keys/remote-keys.ts";
import { Dispatcher } from "./dispatch/dispatcher.ts";
import { OutageRegistry } from "./dispatch/notices/outage-registry.ts";
import { OwnerNotices } from "./dispatch/notices/owner-notices.ts";
import { RunWatch } from "./dispatch/run-watch.ts";
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
import { DeliveryOperations } from "./operator/delivery-operations.ts";
import { HookOperations } from "./operator/hook-operations.ts";
import { Retention } from "./operator/retention.ts";
import { answerRequest } from "./pipeline.ts";
import { observe } from "./stages/ingress-context.ts";
import type { IngressContext } from "./stages/ingress-context.ts";
import { RefusalLog } from "./stages/refusal-log.ts";
import { StoreError } from "./store/delivery-store.ts";
import type { DeliveryStore } from "./store/delivery-store.ts";

/** Requests under way at once from which on accepting comes before dispatching. */
const BUSY_FROM = 16;

/** What a gateway's owner can do besides configuring. */
export interface Operations {
  readonly deliveries: DeliveryOperations;
  readonly hooks: HookOperations;
}

/** What lives as long as the store is open. */
interface Running {
  readonly context: IngressContext;
  readonly retention: Retention;
  readonly operations: Operations;
}

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
  #running: Running | undefined;
  #closing = false;
  /** Aborted when the shutdown's deadline has come. */
  readonly #abandon = new AbortController();

  constructor(host: GatewayHost, options: { hooks: IngressHooks; openStore: () => Promise<DeliveryStore> }) {
    this.#host = host;
    this.#hooks = options.hooks;
    this.#openStore = options.openStore;
  }

  /** The store, once the first configuration has been loaded. */
  get store(): DeliveryStore {
    return this.#started.context.store;
  }

  /** What an operator can do, once the first configuration has been loaded. */
  get operations(): Operations {
    return this.#started.operations;
  }

  get #started(): Running {
    if (!this.#running) throw new StoreError("CLOSED", "The ingress has not been started.");
    return this.#running;
  }

  /** `onConfigLoad`: prepares the snapshot's generation; commits swap it in. */
  async load(snapshot: ConfigSnapshot): Promise<void> {
    const generation = await prepareGeneration(snapshot, {
      host: this.#host,
      hooks: this.#hooks,
      keys: (this.#keys ??= await this.#openKeys()),
      previous: this.#generation,
    });
    this.#running ??= await this.#open(generation);
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
    if (this.#running) await this.#close(this.#running, deadlineMs);
    this.#keys?.remoteKeys.close();
  }

  async #close({ context, retention }: Running, deadlineMs: number): Promise<void> {
    // Whoever waits for a result is told at once that the call was accepted.
    context.watch.close();
    await context.dispatcher.stop(deadlineMs);
    this.#abandon.abort();
    await retention.stop();
    await context.store.close();
  }

  async #open(first: Generation): Promise<Running> {
    const store = await this.#openStore();
    try {
      return await this.#runOn(store, first);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** `first` is in force as long as none is: runs are recovered before the first commit. */
  async #runOn(store: DeliveryStore, first: Generation): Promise<Running> {
    const host = this.#host;
    const { logger, clock } = host;
    const { signal: abandon } = this.#abandon;
    const watch = new RunWatch();
    const inForce = (): Generation => this.#generation ?? first;
    const notices = new OwnerNotices({ host, logger, target: () => inForce().config.notices, abandon });
    const outages = new OutageRegistry({ store, notices, logger, clock, abandon });
    await outages.load();
    const dispatcher = new Dispatcher({
      store,
      host,
      logger,
      clock,
      events: {
        dispatched: (event) => observe(host, this.#hooks.dispatched, event),
        settled: (event) => {
          watch.tell(event.runId, event.reply);
          return observe(host, this.#hooks.settled, event);
        },
      },
      rulesFor: (mappingId) => inForce().dispatchRules(mappingId),
      callbacks: () => inForce().config.callbacks,
      notices,
      outages,
      concurrency: () => inForce().config.concurrency,
      isBusy: () => this.#inFlight.count >= BUSY_FROM,
    });
    await dispatcher.recover();
    const context: IngressContext = {
      store,
      dispatcher,
      watch,
      host,
      hooks: this.#hooks,
      inFlight: this.#inFlight,
      unverifiedBytes: this.#unverifiedBytes,
      refusals: new RefusalLog({ clock }),
    };
    const retention = new Retention({ store, clock, logger, limits: () => inForce().config.retention });
    const operated = { ingress: context, generation: inForce };
    const operations = { deliveries: new DeliveryOperations(operated), hooks: new HookOperations(operated) };
    return { context, retention, operations };
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
    if (!this.#running) return;
    const { context, retention } = this.#running;
    if (isFirst) {
      context.dispatcher.start();
      retention.start();
    } else {
      context.dispatcher.configure();
    }
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const generation = this.#generation;
    if (this.#closing || !generation || !this.#running) {
      sendAnswer(req, res, answerRefusal(refuse("SHUTTING_DOWN")));
      return;
    }
    sendAnswer(req, res, await this.#answer(this.#running.context, generation, req));
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
