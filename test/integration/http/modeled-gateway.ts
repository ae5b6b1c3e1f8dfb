import { ModelEndpoint } from "../model-endpoint.ts";
import { RunningGateway } from "./running-gateway.ts";

/** For what happens by itself; how long it takes is no matter. */
export const SOON = { timeout: 15_000, interval: 5 };
/** Longer than any test takes. */
const NEVER_MS = 60_000;
/** A call that leaves nothing behind but its own run. */
export const AGENT_CALL = { message: "x", deliver: false, wakeMode: "next-heartbeat" };

/** A gateway whose agent asks a model that a test makes slow or fast; both end together. */
export class ModeledGateway implements AsyncDisposable {
  readonly model: ModelEndpoint;
  readonly gateway: RunningGateway;

  private constructor(model: ModelEndpoint, gateway: RunningGateway) {
    this.model = model;
    this.gateway = gateway;
  }

  /** It leaves what is in progress when it is stopped, unless `gateway` says otherwise. */
  static async start(hooks: object, gateway: object = { shutdownSeconds: 0 }): Promise<ModeledGateway> {
    const model = await ModelEndpoint.listen();
    const config = {
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
    };
    try {
      return new ModeledGateway(model, await RunningGateway.start({ hooks, gateway, config }));
    } catch (error) {
      model.close();
      throw error;
    }
  }

  /** Runs that begin from now on do not end by themselves. */
  hold(): void {
    this.model.delayMs = NEVER_MS;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.model.close();
    await this.gateway[Symbol.asyncDispose]();
  }
}
