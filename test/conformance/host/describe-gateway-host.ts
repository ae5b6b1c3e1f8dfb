import { afterAll, afterEach, beforeAll, describe } from "vitest";
import type { GatewayHost, GatewayPlugin } from "../../../src/core/host.ts";
import type { GatewayHostHarness, RunningHost } from "./gateway-host-harness.ts";
import { testAgents } from "./agents-promises.ts";
import { testChannels } from "./channels-promises.ts";
import { testLifecycle } from "./lifecycle-promises.ts";
import { ModelServer } from "./model-server.ts";
import { ProbePlugin } from "./probe-plugin.ts";
import { testReapply } from "./reapply-promises.ts";
import { testRouter } from "./router-promises.ts";
import { testSessions } from "./sessions-promises.ts";

/** What the tests of the suite use. */
export interface SuiteContext {
  readonly model: ModelServer;
  /** Starts a host that is stopped after the test. */
  readonly start: (plugins: readonly GatewayPlugin[], config?: unknown) => Promise<RunningHost>;
  /** Starts a host with one plugin that only keeps the host it was given. */
  readonly startProbe: () => Promise<ProbedHost>;
  /** The same, one host for all tests that leave nothing behind that another would see. */
  readonly shareProbe: () => Promise<ProbedHost>;
}

export interface ProbedHost {
  readonly running: RunningHost;
  readonly host: GatewayHost;
}

/**
 * The promises of `src/core/host.ts`, as tests. A host passes when every one of them does; its own test
 * builds the harness and nothing else.
 */
export function describeGatewayHost(name: string, harness: GatewayHostHarness): void {
  describe(`the host contract, ${name}`, () => {
    let model: ModelServer;
    let shared: Promise<ProbedHost> | undefined;
    const started: RunningHost[] = [];

    beforeAll(async () => {
      model = await ModelServer.start();
    });

    afterEach(async () => {
      for (const running of started.splice(0)) await running.stop();
      model.prompts.length = 0;
    });

    afterAll(async () => {
      await (await shared)?.running.stop();
      await model.stop();
    });

    const context: SuiteContext = {
      get model() {
        return model;
      },
      async start(plugins, config) {
        const running = await harness.start({ plugins, config, modelUrl: model.url });
        started.push(running);
        return running;
      },
      async startProbe() {
        const probe = new ProbePlugin();
        const running = await context.start([probe]);
        return { running, host: probe.host };
      },
      shareProbe() {
        shared ??= startShared();
        return shared;
      },
    };

    async function startShared(): Promise<ProbedHost> {
      const probe = new ProbePlugin();
      const running = await harness.start({ plugins: [probe], modelUrl: model.url });
      return { running, host: probe.host };
    }

    describe("lifecycle", () => {
      testLifecycle(context);
    });
    describe("plugins applied again", () => {
      testReapply(context);
    });
    describe("router", () => {
      testRouter(context);
    });
    describe("sessions", () => {
      testSessions(context);
    });
    describe("agents", () => {
      testAgents(context);
    });
    describe("channels", () => {
      testChannels(context);
    });
  });
}
