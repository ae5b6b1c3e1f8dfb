import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { CERTIFICATES_FILE, openCertificateFile } from "../auth/keys/certificate-file.ts";
import { type OpenDeliveredKeys, openDeliveredKeys, SENDER_KEYS_FILE } from "../auth/keys/delivered-keys.ts";
import { createRemoteKeys, REMOTE_KEY_BOUNDS } from "../auth/keys/remote-keys.ts";
import { ConfigError, type ConfigIssue } from "../config/errors.ts";
import type { HooksConfig } from "../config/hooks.ts";
import type { StoreConfig } from "../config/store.ts";
import type { ActiveConfig, ActiveConfigOptions } from "./active-config.ts";
import { ConfigReload, SHUT_DOWN } from "./reload.ts";
import type { DifferingGateway } from "./gateway-record.ts";
import type { IngressHooks } from "./hooks.ts";
import type { ConfigSnapshot, GatewayHost, HttpRouter, ShutdownDeadline } from "../core/host.ts";
import { ByteBudget, HELD_ANSWERS, HeldAnswers, InFlight, UnverifiedPlaces } from "./request-limits.ts";
import { Measurements } from "../core/measurements.ts";
import { settledWithin } from "../core/settled-within.ts";
import { answerRefusal } from "../http/answer.ts";
import type { Answer } from "../http/answer.ts";
import { sendAnswer } from "../http/send-answer.ts";
import { refuse } from "../core/errors.ts";
import { type Operations, openRunning, type Running, type SharedParts } from "./open-running.ts";
import { answerRequest } from "./pipeline.ts";
import { countRequest, RequestFacts, RequestLog } from "./request-log.ts";
import { clientAddressOf } from "./stages/edge.ts";
import { StoreError } from "../storage/delivery-store.ts";
import type { DeliveryStore } from "../storage/delivery-store.ts";

/**
 * The ingress of one host: owns the store, the dispatcher and the active configuration, and passes each
 * request to the pipeline with them.
 */
export class Ingress {
  readonly #host: GatewayHost;
  readonly #openStore: (config: HooksConfig) => Promise<DeliveryStore>;
  readonly #reload: ConfigReload;
  readonly #shared: SharedParts = {
    inFlight: new InFlight({ limit: () => this.#active?.config.maxInFlight ?? 0 }),
    unverifiedPlaces: new UnverifiedPlaces({ maxInFlight: () => this.#active?.config.maxInFlight ?? 0 }),
    unverifiedBytes: new ByteBudget({ limit: () => this.#active?.config.maxUnverifiedBytes ?? 0 }),
    heldAnswers: new HeldAnswers(HELD_ANSWERS),
    measurements: new Measurements(),
  };
  readonly #requestLog: RequestLog;
  #keys: OpenKeys | undefined;
  #running: Running | undefined;
  /** Of the store that is open. */
  #storeConfig: StoreConfig | undefined;
  /** While the store of the first configuration is being opened. */
  #opening: Promise<void> | undefined;
  #hasStarted = false;
  readonly #leading = Promise.withResolvers<void>();
  #closing = false;
  /** Aborted at the shutdown's deadline. */
  readonly #abandon = new AbortController();

  constructor(
    host: GatewayHost,
    {
      openStore,
      strict,
    }: { readonly openStore: (config: HooksConfig) => Promise<DeliveryStore>; readonly strict: boolean },
  ) {
    this.#host = host;
    this.#openStore = openStore;
    this.#requestLog = new RequestLog(host);
    this.#reload = new ConfigReload({
      host,
      strict,
      keys: async () => (this.#keys ??= await this.#openKeys()),
      onCommit: () => {
        this.#applyActive();
      },
    });
  }

  get #active(): ActiveConfig | undefined {
    return this.#reload.current;
  }

  /** The store, once the first configuration has been loaded. */
  get store(): DeliveryStore {
    return this.#started.context.store;
  }

  get isClosed(): boolean {
    return this.#active?.config.enabled === true && this.#active.config.closed !== undefined;
  }

  /** Resolves when this gateway carries out the runs. */
  get leading(): Promise<void> {
    return this.#leading.promise;
  }

  /** Other gateways on the store that are not as this one. */
  get differing(): readonly DifferingGateway[] {
    return this.#running?.around?.record.differing ?? [];
  }

  /** Turns that other gateways on the store take at once. */
  get turnsElsewhere(): number {
    return this.#running?.turns?.elsewhere ?? 0;
  }

  /** An operator's actions; usable after the first configuration was loaded. */
  get operations(): Operations {
    return this.#started.operations;
  }

  get #started(): Running {
    if (!this.#running) throw new StoreError("CLOSED", "The ingress has not been started.");
    return this.#running;
  }

  /** `onConfigLoad`: prepares the snapshot's configuration with the hooks that plugins tapped; the commit activates it. */
  async load(snapshot: ConfigSnapshot, hooks: IngressHooks): Promise<void> {
    const { active, commit } = await this.#reload.prepare(snapshot, hooks);
    if (!this.#running) await this.#openOnce(active);
    else if (active.config.enabled && !isSameStore(active.config.store, this.#storeConfig)) {
      throw new ConfigError([STORE_CHANGED]);
    }
    if (this.#closing) throw new Error(SHUT_DOWN);
    snapshot.onCommit(commit);
  }

  /** `onHttpRoute`: registers the hooks' prefix of the active configuration. */
  route(router: HttpRouter): void {
    const active = this.#active;
    if (!active?.config.enabled) return;
    router.register({
      path: active.config.path,
      match: "prefix",
      handler: (req, res) => this.#handle(req, res),
    });
  }

  /** `onShutdown`: refuses requests from now on and lets runs finish until the deadline. */
  async shutdown({ deadlineMs }: ShutdownDeadline): Promise<void> {
    this.#closing = true;
    try {
      const leftMs = (): number => Math.max(0, deadlineMs - this.#host.clock.now());
      await this.#reload.settle(leftMs());
      if (this.#opening) await settledWithin(Promise.allSettled([this.#opening]), leftMs());
      if (this.#running) await this.#close(this.#running, deadlineMs);
    } finally {
      await this.#reload.close();
      this.#keys?.remoteKeys.close();
      this.#requestLog.flush();
    }
  }

  async #close(
    { context, lead, turns, around, retention, hookWatch, probing, quarantine, waitClock }: Running,
    deadlineMs: number,
  ): Promise<void> {
    lead.stop();
    await waitClock.stop();
    around?.stop();
    // Requests that wait for a result are answered now: the call was accepted.
    context.watch.close();
    context.heldAnswers.close();
    try {
      await Promise.all([context.dispatcher.stop(deadlineMs), turns?.stop(deadlineMs)]);
      turns?.close();
      this.#abandon.abort();
      await Promise.all([retention.stop(), hookWatch.stop(), probing.stop(), quarantine.stop()]);
    } finally {
      await context.store.close();
    }
  }

  /** Rejects, and leaves nothing open, when the ingress was shut down meanwhile. */
  #openOnce(first: ActiveConfig): Promise<void> {
    const open = async (): Promise<void> => {
      const running = await this.#open(first);
      if (!this.#closing) {
        this.#running = running;
        return;
      }
      await running.context.store.close();
      throw new Error(SHUT_DOWN);
    };
    this.#opening ??= open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #open(first: ActiveConfig): Promise<Running> {
    const store = await this.#openStore(first.config);
    this.#storeConfig = first.config.store;
    try {
      if (first.config.store?.several === true) await this.#keys?.deliveredKeys.share(store.shared!.senderKeys);
      const running = await this.#runOn(store, first);
      void store.shared?.replaced.then(() => this.#yield(running));
      return running;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Another gateway carries out the runs: what is active here ends at once, and nothing begins. */
  async #yield({ context, turns }: Running): Promise<void> {
    const now = this.#host.clock.now();
    await Promise.all([context.dispatcher.stop(now), turns?.stop(now)]);
    turns?.close();
  }

  /** Until the first commit, `first` is used: runs are recovered before it. */
  #runOn(store: DeliveryStore, first: ActiveConfig): Promise<Running> {
    return openRunning({
      store,
      host: this.#host,
      active: () => this.#active ?? first,
      written: () => this.#reload.written,
      refreshKeys: async () => this.#keys?.deliveredKeys.refresh(),
      withEdit: (edit, use) => this.#reload.withEdit(edit, use),
      shared: this.#shared,
      abandon: this.#abandon.signal,
    });
  }

  async #openKeys(): Promise<OpenKeys> {
    const { clock, logger, paths } = this.#host;
    const certificateFile = await openCertificateFile(join(paths.stateDir, CERTIFICATES_FILE), logger);
    return {
      remoteKeys: createRemoteKeys({ clock, logger, bounds: REMOTE_KEY_BOUNDS, certificateFile }),
      deliveredKeys: await openDeliveredKeys({ file: join(paths.stateDir, SENDER_KEYS_FILE), clock, logger }),
    };
  }

  #applyActive(): void {
    if (!this.#running || this.#closing) return;
    const { context, lead, turns } = this.#running;
    if (this.#hasStarted) {
      context.dispatcher.configure();
      return;
    }
    this.#hasStarted = true;
    turns?.start();
    if (lead.isHere) this.#start(this.#running);
    else void lead.taken.then(() => this.#running && this.#start(this.#running));
  }

  /** This gateway carries out the runs, and does what one gateway does for all. */
  #start({ context, retention, hookWatch, probing, quarantine, waitClock }: Running): void {
    if (this.#closing) return;
    context.dispatcher.start();
    retention.start();
    hookWatch.start();
    probing.start();
    quarantine.start();
    waitClock.start();
    this.#leading.resolve();
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const facts = new RequestFacts();
    const active = this.#active;
    let answer: Answer;
    if (this.#closing || !active || !this.#running) {
      if (active) facts.client = clientAddressOf(active, req);
      answer = refused(facts, "SHUTTING_DOWN");
    } else {
      try {
        answer = await answerRequest(this.#running.context, active, req, facts);
      } catch (error) {
        // A defect of the ingress or of a plugin.
        this.#host.logger.error({ err: error }, "a request failed");
        answer = refused(facts, "INTERNAL");
      }
    }
    sendAnswer(req, res, answer);
    this.#requestLog.end(facts, req, answer.status);
    countRequest(this.#shared.measurements, facts, { mappings: active?.mappings, clock: this.#host.clock });
    this.#running?.hookWatch.saw(facts, active?.mappings);
  }
}

interface OpenKeys extends Pick<ActiveConfigOptions["keys"], "remoteKeys"> {
  readonly deliveredKeys: OpenDeliveredKeys;
}

function isSameStore(one: StoreConfig | undefined, other: StoreConfig | undefined): boolean {
  return one?.url === other?.url && one?.several === other?.several;
}

/** A gateway that runs cannot take its open runs along. */
const STORE_CHANGED: ConfigIssue = {
  path: "hooks.store",
  message: "is read at the start only; start the gateway again to use another store",
};

function refused(facts: RequestFacts, code: "SHUTTING_DOWN" | "INTERNAL"): Answer {
  facts.code = code;
  return answerRefusal(refuse(code));
}
