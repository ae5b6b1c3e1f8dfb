import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll } from "vitest";
import type { LoadOutcome } from "../../src/hosts/openclaw/gateway.ts";
import { describeGatewayHost } from "../conformance/host/describe-gateway-host.ts";
import type { GatewayHostHarness } from "../conformance/host/gateway-host-harness.ts";
import { DRIVER } from "./driver-package.ts";
import { InProcessHost, until } from "./in-process-host.ts";
import { PortForward } from "./port-forward.ts";

let host: Promise<InProcessHost> | undefined;
let started = 0;

afterAll(async () => {
  await (await host)?.stop();
});

/** One gateway for the suite; each start is the adapter's service anew, with a state folder of its own. */
const harness: GatewayHostHarness = {
  async start({ plugins, config, modelUrl }) {
    host ??= InProcessHost.start(modelUrl);
    const { home, port, proxy, botApi, driver } = await host;
    const running = await host;
    const name = `instance-${started++}`;
    const stateDir = join(home, name);
    const outcomes: LoadOutcome[] = [];
    await running.configure(name, config);
    const gateway = driver.open(stateDir, {
      bare: true,
      block: (written) => (written as Record<string, unknown> | undefined)?.[name],
      plugins: () => plugins,
      onLoaded: (outcome) => void outcomes.push(outcome),
    });
    await gateway.start();
    const stop = async (): Promise<void> => {
      await gateway.stop();
      await running.configure(name, undefined);
      driver.forgetEvents();
    };
    const refused = outcomes[0]?.error;
    if (refused !== undefined) {
      await stop();
      throw refused instanceof Error ? refused : new Error("The configuration was refused.", { cause: refused });
    }
    const forward = await PortForward.start(port);
    const turnsBefore = new Map<string, number>();
    const sentBefore = botApi.sent.length;
    const turns = (sessionKey: string): number => {
      const before = turnsBefore.get(sessionKey) ?? 0;
      return proxy.turns(sessionKey) - before;
    };
    for (const sessionKey of proxy.sessions()) turnsBefore.set(sessionKey, proxy.turns(sessionKey));
    return {
      url: forward.url,
      async reload(next) {
        const before = outcomes.length;
        await running.configure(name, next);
        // The gateway tells nobody of a text that has not changed.
        if (JSON.stringify(next) === JSON.stringify(config)) await gateway.reload();
        config = next;
        await until(() => outcomes.length > before, "the configuration was offered");
      },
      async stop() {
        await forward.stop();
        await stop();
      },
      async pendingEvents(sessionKey) {
        const state = new DatabaseSync(join(stateDir, DRIVER, "reveille.sqlite"), { readOnly: true });
        const query = "SELECT text FROM openclaw_event WHERE session = ? AND text IS NOT NULL ORDER BY id";
        const rows = state.prepare(query).all(sessionKey);
        state.close();
        return rows.map(({ text }) => String(text));
      },
      turns: async (sessionKey) => turns(sessionKey),
      sent: async () => botApi.sent.slice(sentBefore).map(({ text }) => text),
    };
  },
};

describeGatewayHost("openclaw", harness);
