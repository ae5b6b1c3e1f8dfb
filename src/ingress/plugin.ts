import { ConfigError } from "../config/errors.ts";
import type { HooksConfig } from "../config/hooks.ts";
import { type HooksContext, readHooksConfig } from "../config/read-hooks.ts";
import { BUILT_IN_PRESETS } from "../presets/built-in.ts";
import { createIngressHooks } from "./hooks.ts";
import type { IngressHooks } from "./hooks.ts";
import type { GatewayHost, GatewayPlugin } from "../core/host.ts";
import type { DifferingGateway } from "./gateway-record.ts";
import { Ingress } from "./ingress.ts";
import type { Operations } from "./open-running.ts";
import type { DeliveryPage, DeliveryQuery, DeliveryStore } from "../storage/delivery-store.ts";
import type { DeliveryDetail } from "../core/delivery.ts";
import { openSqliteStore } from "../storage/sqlite/delivery-store.ts";
import type { TakeDatabase } from "../storage/postgres/engine/database.ts";
import { openConfiguredStore } from "./open-store.ts";

const NAME = "reveille";
/** Other plugins refuse a configuration before processes are started for it. */
const AFTER_OTHERS = 1_000;

/** Options that a host may pass at construction. */
export interface WebhookIngressOptions {
  /** Opens the store where `hooks.store` names none; a file of its own in the host's state directory when absent. */
  readonly openStore?: (host: GatewayHost) => Promise<DeliveryStore>;
  /** Takes the database of `hooks.store` for the host's own state as well; the host closes it then. */
  readonly takeDatabase?: TakeDatabase | undefined;
  /** True: a configuration is refused as a whole when one mapping refers to something missing. Default: that mapping is set aside. */
  readonly strict?: boolean | undefined;
}

/** Reads deliveries, for a host's operator API. */
export interface DeliveryReader {
  list(query: DeliveryQuery): Promise<DeliveryPage>;
  get(deliveryId: string): Promise<DeliveryDetail | undefined>;
  /** The stored body, exactly as received; `undefined` when it is not kept. */
  body(deliveryId: string): Promise<Uint8Array | undefined>;
}

const hooksOf = new WeakMap<GatewayHost, IngressHooks>();

/**
 * The webhook ingress as a plugin of a gateway: `new WebhookIngress().apply(host)`.
 *
 * A gateway that reloads its plugins makes a new host object, with new lifecycle hooks and all else as it
 * was, and applies the plugin to that too: it continues where it is, with what other plugins have tapped on
 * the new object, once a configuration was committed there.
 */
export class WebhookIngress implements GatewayPlugin {
  /** The ingress's own hooks in that host, for other plugins, whichever of them is applied first. */
  static hooks(host: GatewayHost): IngressHooks {
    let hooks = hooksOf.get(host);
    if (!hooks) hooksOf.set(host, (hooks = createIngressHooks()));
    return hooks;
  }

  /**
   * The error of a refused `hooks` block, or `undefined`: for a host that reports it together with the
   * problems of its own configuration. Presets of plugins and modules are not known.
   */
  static check(block: unknown, context: Omit<HooksContext, "presets">): ConfigError | undefined {
    const presets = new Map(BUILT_IN_PRESETS.map((preset) => [preset.name, preset]));
    try {
      readHooksConfig(block, { ...context, presets });
      return undefined;
    } catch (error) {
      if (error instanceof ConfigError) return error;
      throw error;
    }
  }

  readonly #openStore: (host: GatewayHost) => Promise<DeliveryStore>;
  readonly #takeDatabase: TakeDatabase | undefined;
  readonly #strict: boolean;
  #ingress: Ingress | undefined;
  #stateDir: string | undefined;
  readonly #hosts = new WeakSet<GatewayHost>();
  /** The host object that the last committed configuration came from. */
  #host: GatewayHost | undefined;

  constructor(options: WebhookIngressOptions = {}) {
    this.#openStore = options.openStore ?? openSqliteStore;
    this.#takeDatabase = options.takeDatabase;
    this.#strict = options.strict ?? false;
  }

  /** Throws when it was applied to that object before, or serves another gateway. */
  apply(host: GatewayHost): void {
    const ingress = this.#ingressOf(host);
    const hooks = WebhookIngress.hooks(host);
    host.lifecycle.onConfigLoad.tapPromise({ name: NAME, stage: AFTER_OTHERS }, async (snapshot) => {
      // This commit must run before the one of `load`: otherwise the end of the replaced host object would shut down the ingress.
      snapshot.onCommit(() => {
        this.#host = host;
      });
      await ingress.load(snapshot, hooks);
    });
    host.lifecycle.onHttpRoute.tap(NAME, (router) => ingress.route(router));
    host.lifecycle.onShutdown.tapPromise(NAME, async (deadline) => {
      // A host object that was replaced or never committed ends; the gateway continues.
      if (this.#host === undefined || this.#host === host) await ingress.shutdown(deadline);
    });
  }

  #ingressOf(host: GatewayHost): Ingress {
    if (this.#hosts.has(host)) throw new Error("This WebhookIngress has been applied to that host already.");
    if (this.#ingress && this.#stateDir !== host.paths.stateDir) {
      throw new Error("This WebhookIngress has been applied to another gateway already.");
    }
    this.#hosts.add(host);
    this.#stateDir = host.paths.stateDir;
    const openStore = (config: HooksConfig): Promise<DeliveryStore> =>
      openConfiguredStore(config.store, {
        openLocal: () => this.#openStore(host),
        logger: host.logger,
        canShare: host.name === "embedded",
        takeDatabase: this.#takeDatabase,
      });
    this.#ingress ??= new Ingress(host, { openStore, strict: this.#strict });
    return this.#ingress;
  }

  /** Rejects while the store takes no write, and calls are refused; usable after the first configuration was loaded. */
  async tryStore(): Promise<void> {
    await this.#applied.store.addUsage([]);
  }

  /** True while all hooks answer 503, since a plugin that may hold rules could not be loaded. */
  get isClosed(): boolean {
    return this.#applied.isClosed;
  }

  /** Resolves when this gateway carries out runs: at once, unless another one does; usable as above. */
  get leading(): Promise<void> {
    return this.#applied.leading;
  }

  /** Other gateways on the same store with another version or another `hooks` block; usable as above. */
  get differing(): readonly DifferingGateway[] {
    return this.#applied.differing;
  }

  /** Turns that other gateways on the same store take at once; usable as above. */
  get turnsElsewhere(): number {
    return this.#applied.turnsElsewhere;
  }

  /** Reads deliveries; usable after the first configuration was loaded. */
  deliveries(): DeliveryReader {
    const ingress = this.#applied;
    return {
      list: async (query) => ingress.store.list(query),
      get: async (deliveryId) => ingress.store.get(deliveryId),
      body: async (deliveryId) => ingress.store.body(deliveryId),
    };
  }

  /** An operator's actions on deliveries and hooks; usable after the first configuration was loaded. */
  operations(): Operations {
    return this.#applied.operations;
  }

  get #applied(): Ingress {
    if (!this.#ingress) throw new Error("This WebhookIngress has not been applied to a host.");
    return this.#ingress;
  }
}
