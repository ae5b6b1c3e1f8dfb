import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { createGatewayLogger } from "../../../src/hosts/embedded/logger.ts";
import { describeGatewayHost } from "./describe-gateway-host.ts";
import type { GatewayHostHarness } from "./gateway-host-harness.ts";

const token = "the-gateway-token-of-this-suite";
const logger = createGatewayLogger({ level: "silent" });

interface Page {
  readonly messages: readonly { readonly role?: string; readonly channel?: string; readonly text: string }[];
  readonly events: readonly { readonly text: string }[];
}

const harness: GatewayHostHarness = {
  async start({ plugins, config, modelUrl }) {
    const folder = mkdtempSync(join(tmpdir(), "reveille-host-"));
    const configFile = join(folder, "reveille.json5");
    let block = config;
    let load: readonly string[] = [];
    const write = (): void => {
      const plugins = { load: { paths: load } };
      const file = { ...configuration(modelUrl), plugins, hooks: block };
      writeFileSync(configFile, JSON.stringify(file), { mode: 0o600 });
    };
    write();
    let gateway: EmbeddedGateway;
    try {
      gateway = await EmbeddedGateway.start({ configFile, stateDir: join(folder, "state"), logger, plugins });
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
    const { url } = gateway;
    const read = async (path: string): Promise<Page> => {
      const response = await fetch(`${url}/api/v1/${path}?limit=200`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      return (await response.json()) as Page;
    };
    return {
      url,
      async reload(next) {
        block = next;
        write();
        await gateway.reload();
      },
      async reapply() {
        load = [...load, writePlugin(folder, `plugin-${load.length}`)];
        write();
        await gateway.reload();
      },
      async stop() {
        await gateway.stop();
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      },
      async pendingEvents(sessionKey) {
        return (await read(`sessions/${encodeURIComponent(sessionKey)}/events`)).events.map(({ text }) => text);
      },
      async turns(sessionKey) {
        const { messages } = await read(`sessions/${encodeURIComponent(sessionKey)}/messages`);
        return messages.filter(({ role }) => role === "assistant").length;
      },
      async sent(channel) {
        const { messages } = await read("outbox");
        return messages
          .filter((message) => message.channel === channel)
          .map(({ text }) => text)
          .toReversed();
      },
    };
  },
};

/** A plugin that does nothing; a further one makes the gateway load all of them again. */
function writePlugin(parent: string, id: string): string {
  const folder = join(parent, id);
  mkdirSync(folder);
  writeFileSync(join(folder, "plugin.json"), JSON.stringify({ id, entry: "main.mjs", pluginApi: "1" }));
  writeFileSync(join(folder, "main.mjs"), "export default class { apply() {} }");
  return folder;
}

function configuration(modelUrl: string): object {
  return {
    gateway: { port: 0, auth: { token }, shutdownSeconds: 5 },
    agents: { defaults: { model: "test/m", heartbeat: { every: "0m" } } },
    models: { providers: { test: { baseUrl: modelUrl } } },
  };
}

describeGatewayHost("embedded gateway", harness);
