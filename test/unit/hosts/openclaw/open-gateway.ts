import type { GatewayHost, GatewayPlugin } from "../../../../src/core/host.ts";
import { OpenClawGateway } from "../../../../src/hosts/openclaw/gateway.ts";
import type { LoadOutcome, OpenClawGatewayOptions } from "../../../../src/hosts/openclaw/gateway.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";

/** The adapter in a fake gateway, with a plugin that keeps the host it was given. */
export class OpenGateway {
  readonly openClaw: FakeOpenClaw;
  readonly gateway: OpenClawGateway;
  readonly outcomes: LoadOutcome[] = [];
  #host: GatewayHost | undefined;

  static async start(
    options: Partial<OpenClawGatewayOptions> & { openClaw?: FakeOpenClaw; plugin?: GatewayPlugin } = {},
  ): Promise<OpenGateway> {
    const opened = new OpenGateway(options);
    await opened.gateway.start();
    return opened;
  }

  private constructor({
    openClaw = new FakeOpenClaw(),
    plugin,
    ...options
  }: Partial<OpenClawGatewayOptions> & { openClaw?: FakeOpenClaw; plugin?: GatewayPlugin }) {
    this.openClaw = openClaw;
    const keeper: GatewayPlugin = { apply: (host) => void (this.#host = host) };
    this.gateway = new OpenClawGateway(openClaw.api, openClaw.context, {
      pluginId: "reveille",
      bare: true,
      block: (written) => written,
      plugins: () => (plugin === undefined ? [keeper] : [keeper, plugin]),
      onLoaded: (outcome) => void this.outcomes.push(outcome),
      loadSdk: async () => openClaw.sdk,
      ...options,
    });
  }

  get host(): GatewayHost {
    if (this.#host === undefined) throw new Error("The gateway has opened no host.");
    return this.#host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.stop();
    this.openClaw[Symbol.dispose]();
  }
}
