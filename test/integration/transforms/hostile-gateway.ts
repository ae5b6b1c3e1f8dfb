import { expect } from "vitest";
import type { DeliverySummary } from "../../../src/core/delivery.ts";
import { RunningGateway } from "../http/running-gateway.ts";
import type { GatewaySetup, HookAnswer } from "../http/running-gateway.ts";
import { HOSTILE_LIMITS } from "./hostile-module.ts";

const INNOCENT = "export default ({ payload }) => ({ message: `Hello ${payload.n}` });";

export interface HostileSetup extends Pick<GatewaySetup, "config"> {
  /** Sources by the path that they are called on. */
  readonly modules: Readonly<Record<string, string>>;
  /** Laid over the limits of hostile-module.ts. */
  readonly limits?: object;
  readonly hooks?: object;
}

/** A gateway with a mapping for each of some modules, one whose transform is good and one without any. */
export class HostileGateway implements AsyncDisposable {
  readonly gateway: RunningGateway;
  #sent = 0;

  static async start({ modules, limits = {}, hooks = {}, config = {} }: HostileSetup): Promise<HostileGateway> {
    const mapped = Object.keys(modules).map((path) => mapping(path, { transform: { module: `${path}.mjs` } }));
    const gateway = await RunningGateway.start({
      config,
      hooks: {
        transforms: { ...HOSTILE_LIMITS, ...limits },
        mappings: [...mapped, mapping("innocent", { transform: { module: "innocent.mjs" } }), mapping("plain", {})],
        ...hooks,
      },
      transforms: {
        "innocent.mjs": INNOCENT,
        ...Object.fromEntries(Object.entries(modules).map(([path, source]) => [`${path}.mjs`, source])),
      },
    });
    return new HostileGateway(gateway);
  }

  private constructor(gateway: RunningGateway) {
    this.gateway = gateway;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway[Symbol.asyncDispose]();
  }

  call(path: string, payload: object = {}): Promise<HookAnswer> {
    return this.gateway.post(`/hooks/${path}`, payload);
  }

  /** A call that has nothing to do with any hostile module, and that it is carried out as ever. */
  async callOrdinarily(path: "innocent" | "plain" = this.#sent % 2 === 0 ? "innocent" : "plain"): Promise<void> {
    const n = this.#sent++;
    const { status, body } = await this.call(path, { n });
    expect({ path, status, body }).toMatchObject({ status: 202, body: { ok: true } });
    if (path === "innocent" && n % 50 === 0) {
      const { runs } = await this.gateway.delivery(body["deliveryId"]);
      expect(runs[0]?.spec).toMatchObject({ message: `Hello ${n}` });
    }
  }

  /** That many of such calls, a few at once. */
  async callOften(count: number): Promise<void> {
    const end = this.#sent + count;
    const call = async (): Promise<void> => {
      while (this.#sent < end) await this.callOrdinarily();
    };
    await Promise.all([call(), call()]);
  }

  /** The newest delivery of a mapping. */
  async newest(path: string): Promise<DeliverySummary | undefined> {
    const { deliveries } = await this.gateway.api<{ deliveries: readonly DeliverySummary[] }>(
      `/deliveries?route=${path}&limit=1`,
    );
    return deliveries[0];
  }

  /** Calls a module whose transform comes to nothing, and gives the reason that is kept. */
  async failed(path: string, payload: object = {}): Promise<string> {
    const { status, body } = await this.call(path, payload);
    expect({ status, body }).toEqual({
      status: 500,
      body: {
        ok: false,
        code: "TRANSFORM_FAILED",
        error: expect.stringContaining("The transform of this hook failed"),
      },
    });
    const delivery = await this.newest(path);
    expect(delivery).toMatchObject({ state: "failed", mappingId: path, runIds: [] });
    return delivery?.reason ?? "";
  }
}

function mapping(path: string, more: object): object {
  const messageTemplate = "Call {{n}}.";
  return { id: path, match: { path }, deliver: false, wakeMode: "next-heartbeat", messageTemplate, ...more };
}
