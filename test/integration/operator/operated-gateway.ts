/** The embedded gateway with an endpoint for its model, as an operator reaches it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import type { EmbeddedGateway, GatewayOptions } from "../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, gatewayToken, GatewayFixture } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  // The tests look at what they expect of each answer.
  readonly body: Readonly<Record<string, unknown>>;
}

export class OperatedGateway implements AsyncDisposable {
  readonly fixture: GatewayFixture;
  readonly model: ModelEndpoint;
  gateway!: EmbeddedGateway;

  private constructor(model: ModelEndpoint, hooks: object) {
    this.model = model;
    this.fixture = new GatewayFixture(this.#configWith(hooks));
  }

  static async start(hooks: object = {}, options: Partial<GatewayOptions> = {}): Promise<OperatedGateway> {
    const operated = new OperatedGateway(await ModelEndpoint.listen(), hooks);
    operated.gateway = await operated.fixture.start(options);
    return operated;
  }

  #configWith(hooks: object): object {
    return {
      ...baseConfig,
      gateway: { ...baseConfig.gateway, shutdownSeconds: 0 },
      agents: { defaults: { heartbeat: { every: "0m" }, model: "test/model" } },
      models: { providers: { test: { baseUrl: this.model.baseUrl } } },
      hooks: { ...baseConfig.hooks, ...hooks },
    };
  }

  async reload(hooks: object): Promise<void> {
    this.fixture.write(this.#configWith(hooks));
    const { applied } = await this.gateway.reload();
    if (!applied) throw new Error(this.fixture.logged("error").join("\n"));
  }

  async restart(options: Partial<GatewayOptions> = {}): Promise<void> {
    await this.gateway.stop();
    this.gateway = await this.fixture.start(options);
  }

  /** Calls a hook and gives the delivery's id. */
  async accept(path: string, payload: object): Promise<string> {
    const response = await callHook(this.gateway, `/hooks/${path}`, payload);
    const { deliveryId } = (await response.json()) as { deliveryId?: string };
    if (deliveryId === undefined) throw new Error(`${path} answered ${response.status}`);
    return deliveryId;
  }

  async api(method: string, path: string, body?: object | string): Promise<ApiAnswer> {
    const response = await fetch(`${this.gateway.url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as ApiAnswer["body"],
    };
  }

  async delivery(id: string): Promise<DeliveryDetail> {
    return (await this.api("GET", `deliveries/${id}`)).body as unknown as DeliveryDetail;
  }

  /** Waits until a delivery is in one of the states. */
  async becomes(id: string, ...states: readonly string[]): Promise<DeliveryDetail> {
    for (;;) {
      const delivery = await this.delivery(id);
      if (states.includes(delivery.state)) return delivery;
      await sleep(10);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.remove();
    this.model.close();
  }
}
