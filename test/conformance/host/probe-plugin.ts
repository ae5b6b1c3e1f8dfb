import type {
  ConfigSnapshot,
  GatewayHost,
  GatewayPlugin,
  HttpRouter,
  ShutdownDeadline,
} from "../../../src/core/host.ts";

export interface ProbeTaps {
  readonly onConfigLoad?: (snapshot: ConfigSnapshot, host: GatewayHost) => void | Promise<void>;
  readonly onHttpRoute?: (router: HttpRouter, host: GatewayHost) => void;
  readonly onShutdown?: (deadline: ShutdownDeadline, host: GatewayHost) => void | Promise<void>;
}

/** A plugin that taps what a test is about and keeps the host objects it was given. */
export class ProbePlugin implements GatewayPlugin {
  readonly #taps: ProbeTaps;
  readonly hosts: GatewayHost[] = [];

  constructor(taps: ProbeTaps = {}) {
    this.#taps = taps;
  }

  get host(): GatewayHost {
    const [host] = this.hosts;
    if (host === undefined) throw new Error("The plugin has not been applied.");
    return host;
  }

  apply(host: GatewayHost): void {
    this.hosts.push(host);
    const { onConfigLoad, onHttpRoute, onShutdown } = this.#taps;
    if (onConfigLoad !== undefined) {
      host.lifecycle.onConfigLoad.tapPromise("probe", async (snapshot) => {
        await onConfigLoad(snapshot, host);
      });
    }
    if (onHttpRoute !== undefined) {
      host.lifecycle.onHttpRoute.tap("probe", (router) => {
        onHttpRoute(router, host);
      });
    }
    if (onShutdown !== undefined) {
      host.lifecycle.onShutdown.tapPromise("probe", async (deadline) => {
        await onShutdown(deadline, host);
      });
    }
  }
}
