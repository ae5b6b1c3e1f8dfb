import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigError } from "../../../../../src/config/errors.ts";
import { ListenError } from "../../../../../src/hosts/embedded/errors.ts";
import type { GatewayHost, GatewayPlugin } from "../../../../../src/core/host.ts";
import { baseConfig, callHook, GatewayFixture, readApi } from "./fixture.ts";

let fixture: GatewayFixture;

beforeEach(() => {
  fixture = new GatewayFixture();
});

afterEach(async () => {
  await fixture.remove();
});

/** A plugin that consists of its taps. */
function plugin(apply: (host: GatewayHost) => void): GatewayPlugin {
  return { apply };
}

describe("EmbeddedGateway.start", () => {
  it("answers hooks, keeps all state in one private file, and has the file's folder to itself", async () => {
    const gateway = await fixture.start();
    expect(gateway.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/u);
    const response = await callHook(gateway, "/hooks/agent", { message: "Hello." });
    expect(response.status).toBe(202);
    const { deliveryId } = (await response.json()) as { deliveryId: string };
    await vi.waitFor(async () => {
      const delivery = (await (await readApi(gateway, `deliveries/${deliveryId}`)).json()) as { state: string };
      expect(delivery.state).toBe("done");
    }, 10_000);
    expect(statSync(fixture.stateDir).mode & 0o777).toBe(0o700);
    const files = readdirSync(fixture.stateDir).filter((name) => !name.endsWith("-wal") && !name.endsWith("-shm"));
    expect(files.toSorted()).toEqual([
      "gateway.key",
      "reveille.sqlite",
      "reveille.sqlite.lock",
      "reveille.sqlite.mark",
    ]);
    for (const file of files) expect(statSync(join(fixture.stateDir, file)).mode & 0o777).toBe(0o600);
    const second = fixture.start();
    await expect(second).rejects.toThrow("is in use by another process");
  });

  it("keeps its state over a restart", async () => {
    const first = await fixture.start();
    await callHook(first, "/hooks/wake", { text: "Remember me.", mode: "next-heartbeat" });
    await vi.waitFor(async () => {
      expect(await (await readApi(first, "sessions/agent:main:main/events")).text()).toContain("Remember me.");
    }, 10_000);
    await first.stop();
    const second = await fixture.start();
    expect(await (await readApi(second, "sessions/agent:main:main/events")).text()).toContain("Remember me.");
  });

  it("refuses a configuration with every issue, and leaves nothing behind", async () => {
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, prot: 1 } });
    await expect(fixture.start()).rejects.toThrow(ConfigError);
    expect(existsSync(fixture.stateDir)).toBe(false);
    fixture.write({ ...baseConfig, hooks: { enabled: true } });
    const refused = fixture.start();
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(/^hooks\.token: /u);
    fixture.write(baseConfig);
    await fixture.start();
  });

  it("refuses a hook token that is also the gateway's (spec 5.6)", async () => {
    fixture.write({ ...baseConfig, hooks: { enabled: true, token: baseConfig.gateway.auth.token } });
    await expect(fixture.start()).rejects.toThrow("hooks.token: is also a secret of the gateway itself");
  });

  it("says that its port is in use, and closes what it had opened", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await expect(fixture.start({ port })).rejects.toThrow(ListenError);
    await fixture.start();
    other.close();
  });

  it("loads the plugins of the configuration and applies those it is given after them", async () => {
    const folder = join(fixture.folder, "greeter");
    mkdirSync(folder);
    writeFileSync(join(folder, "plugin.json"), JSON.stringify({ id: "greeter", entry: "main.ts", pluginApi: "1" }));
    writeFileSync(
      join(folder, "main.ts"),
      `import { WebhookIngress, type GatewayHost, type GatewayPlugin } from "reveille";
       export class Greeter implements GatewayPlugin {
         readonly #word: string;
         constructor(options: { word: string }) { this.#word = options.word; }
         apply(host: GatewayHost): void {
           WebhookIngress.hooks(host).policy.tap("greeter", (run) => (run.name === "Forbidden" ? { deny: "No." } : undefined));
           host.lifecycle.onHttpRoute.tap("greeter", (router) => {
             router.register({ path: "/greet", match: "exact", handler: (_req, res) => void res.end(this.#word) });
           });
         }
       }`,
    );
    fixture.write({
      ...baseConfig,
      plugins: { load: { paths: ["./greeter"] }, entries: { greeter: { config: { word: "Good morning." } } } },
    });
    const gateway = await fixture.start();
    expect(await (await fetch(`${gateway.url}/greet`)).text()).toBe("Good morning.");
    expect((await callHook(gateway, "/hooks/agent", { message: "x", name: "Forbidden" })).status).toBe(403);
    expect((await callHook(gateway, "/hooks/agent", { message: "x", name: "Allowed" })).status).toBe(202);
  });

  it("refuses to start on a plugin that taps an async function as sync, and names it", async () => {
    const wrong = plugin((host) => {
      const route = async (): Promise<void> => {};
      // oxlint-disable-next-line typescript/no-misused-promises -- the mistake that is refused
      host.lifecycle.onHttpRoute.tap("careless", route);
    });
    await expect(fixture.start({ plugins: [wrong] })).rejects.toThrow('Hook "onHttpRoute", tap "careless"');
  });

  it("warns of valid but risky settings", async () => {
    fixture.write(baseConfig);
    chmodSync(fixture.configFile, 0o644);
    await fixture.start();
    expect(fixture.logged("warn").join()).toContain("chmod it to 600");
  });

  it("has a URL that can be reached for every kind of address", async () => {
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, bind: "lan" } });
    const lan = await fixture.start();
    expect(lan.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/u);
    await lan.stop();
    const six = await fixture.start({ host: "::1" });
    expect(six.url).toMatch(/^http:\/\/\[::1\]:\d+$/u);
    expect((await fetch(`${six.url}/health`)).status).toBe(200);
  });
});

describe("EmbeddedGateway.stop", () => {
  it("lets a request in progress finish, and stops once however often it is asked to", async () => {
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const slow = plugin((host) => {
      host.lifecycle.onHttpRoute.tap("slow", (router) => {
        router.register({
          path: "/slow",
          match: "exact",
          async handler(_req, res) {
            arrived.resolve();
            await gate.promise;
            res.end("finished");
          },
        });
      });
    });
    const gateway = await fixture.start({ plugins: [slow] });
    const response = fetch(`${gateway.url}/slow`);
    await arrived.promise;
    const stopped = [gateway.stop(), gateway.stop()];
    expect(stopped[0]).toBe(stopped[1]);
    gate.resolve();
    expect(await (await response).text()).toBe("finished");
    await Promise.all(stopped);
    expect(existsSync(join(fixture.stateDir, "reveille.sqlite-wal"))).toBe(false);
  });

  it("closes the database although a plugin fails to shut down, or never ends to", async () => {
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, shutdownSeconds: 0 } });
    const failing = plugin((host) => {
      host.lifecycle.onShutdown.tapPromise("failing", () => Promise.reject(new Error("cannot let go")));
    });
    const hanging = plugin((host) => {
      host.lifecycle.onShutdown.tapPromise("hanging", () => new Promise(() => {}));
    });
    for (const [given, reason] of [
      [failing, "cannot let go"],
      [hanging, "has not come to an end by the deadline"],
    ] as const) {
      const gateway = await fixture.start({ plugins: [given] });
      await gateway.stop();
      expect(String(fixture.logger.lines.at(-1)?.fields.err)).toContain(reason);
    }
    await fixture.start();
  });

  it("has no URL any more than before it listens", async () => {
    const gateway = await fixture.start();
    const { url } = gateway;
    await gateway.stop();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});
