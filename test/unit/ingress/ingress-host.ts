import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLifecycle } from "../../../src/hosts/shared/lifecycle.ts";
import { GatewayServer } from "../../../src/hosts/embedded/server.ts";
import { RoutingTable } from "../../../src/hosts/embedded/server/routing-table.ts";
import type { ConfigSnapshot, GatewayHost } from "../../../src/core/host.ts";
import { MemoryDeliveryStore } from "../../fixtures/memory-store/delivery-store.ts";
import { MemoryDisk } from "../../fixtures/memory-store/disk.ts";
import { ScriptedHost } from "../dispatch/scripted-host.ts";
import { recordingLogger } from "../hosts/embedded/server/recording-logger.ts";

export const TOKEN = "hook-token-of-the-ingress-tests";
/** A call that leaves nothing behind but its own run. */
export const AGENT_CALL = { message: "x", deliver: false, wakeMode: "next-heartbeat" };

export interface HostAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A host with a real server, a folder and a disk in memory, whose lifecycle a test fires by hand and whose agents it scripts. */
export class IngressHost implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "ingress-"));
  readonly scripted = new ScriptedHost();
  #disk = new MemoryDisk();
  readonly logger = recordingLogger();
  /** The object that plugins are applied to; see {@link nextObject}. */
  host: GatewayHost = {
    name: "scripted",
    lifecycle: createLifecycle(),
    sessions: this.scripted.sessions,
    agents: this.scripted.agents,
    channels: this.scripted.channels,
    logger: this.logger,
    paths: { configDir: this.folder, stateDir: this.folder },
    clock: { now: () => Date.now() },
  };
  #server!: GatewayServer;
  readonly #others: IngressHost[] = [];

  static async listen(): Promise<IngressHost> {
    const host = new IngressHost();
    const { logger } = host;
    host.#server = await GatewayServer.listen({ host: "127.0.0.1", port: 0, routes: new RoutingTable(), logger });
    return host;
  }

  get port(): number {
    return this.#server.port;
  }

  /** For {@link WebhookIngressOptions.openStore}: hosts on the same folder share what they store. */
  readonly openStore = async (): Promise<MemoryDeliveryStore> => new MemoryDeliveryStore(this.#disk);

  /** Another host, closed with this one, on the same or on a folder of its own. */
  async other({ sameFolder }: { sameFolder: boolean }): Promise<IngressHost> {
    const other = await IngressHost.listen();
    if (sameFolder) {
      rmSync(other.folder, { recursive: true });
      Object.assign(other.host, { paths: this.host.paths });
      other.#disk = this.#disk;
    }
    this.#others.push(other);
    return other;
  }

  /** A new host object of the same gateway, with hooks of its own; `offer` and `shutdown` use it once it is `host`. */
  nextObject(): GatewayHost {
    return { ...this.host, lifecycle: createLifecycle() };
  }

  /** Fires `onConfigLoad`; the returned function commits what was accepted, and builds the routes. */
  async offer(hooks: object, reason: ConfigSnapshot["reason"] = "reload"): Promise<() => void> {
    const commits: (() => void)[] = [];
    const { lifecycle } = this.host;
    await lifecycle.onConfigLoad.promise({
      config: { enabled: true, token: TOKEN, ...hooks },
      reason,
      gateway: { secrets: [], loopbackOnly: true, trustedProxies: [] },
      agents: this.host.agents,
      channels: this.host.channels.list(),
      onCommit: (commit) => commits.push(commit),
    });
    return () => {
      for (const commit of commits) commit();
      const routes = new RoutingTable();
      lifecycle.onHttpRoute.call(routes);
      this.#server.use(routes);
    };
  }

  /** Takes a configuration into use. */
  async load(hooks: object = {}, reason: ConfigSnapshot["reason"] = "reload"): Promise<void> {
    const commit = await this.offer(hooks, reason);
    commit();
  }

  /** Fires `onShutdown` with a deadline that many milliseconds away. */
  async shutdown(withinMs: number): Promise<void> {
    await this.host.lifecycle.onShutdown.promise({ deadlineMs: Date.now() + withinMs });
  }

  async post(path: string, payload: unknown, token = TOKEN): Promise<HostAnswer> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(payload),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as HostAnswer["body"] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const other of this.#others) await other[Symbol.asyncDispose]();
    await this.shutdown(0);
    await this.#server.close(0);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
