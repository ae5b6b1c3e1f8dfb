import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigError } from "../../../../src/config/config-error.ts";
import { ListenError } from "../../../../src/embedded/server/listen-error.ts";
import type { GatewayHost, GatewayPlugin } from "../../../../src/host.ts";
import { baseConfig, callHook, GatewayFixture, hookToken, readApi } from "./gateway-fixture.ts";

let fixture: GatewayFixture;

beforeEach(() => {
  fixture = new GatewayFixture();
});

afterEach(async () => {
  await fixture.remove();
});

/** A plugin made of its taps. */
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
    expect(files.toSorted()).toEqual(["reveille.sqlite", "reveille.sqlite.lock"]);
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

  it("warns of what works and should be looked at", async () => {
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

describe("EmbeddedGateway.reload", () => {
  const renamed = { ...baseConfig, hooks: { ...baseConfig.hooks, path: "/other" } };

  it("takes a new configuration into use when the file changes, by a write or by a rename", async () => {
    const gateway = await fixture.start();
    fixture.write(renamed);
    await vi.waitFor(async () => {
      expect((await callHook(gateway, "/other/wake", { text: "x" })).status).toBe(200);
    }, 10_000);
    expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(404);
    writeFileSync(join(fixture.folder, "next"), JSON.stringify(baseConfig), { mode: 0o600 });
    renameSync(join(fixture.folder, "next"), fixture.configFile);
    await vi.waitFor(async () => {
      expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
    }, 10_000);
    expect(fixture.logged("info")).toContain("The new configuration is in force.");
  });

  it("drops no request while configurations follow one another under load", async () => {
    const gateway = await fixture.start();
    const load = { isOn: true };
    const statuses = new Set<number>();
    const calling = Array.from({ length: 4 }, async () => {
      while (load.isOn) {
        const response = await callHook(gateway, "/hooks/wake", { text: "x", mode: "next-heartbeat" });
        statuses.add(response.status);
      }
    });
    for (let round = 0; round < 10; round++) {
      fixture.write({ ...baseConfig, hooks: { ...baseConfig.hooks, maxDepth: 10 + round } });
      expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: [] });
    }
    load.isOn = false;
    await Promise.all(calling);
    expect([...statuses]).toEqual([200]);
  });

  it("reports an invalid configuration and keeps the old one", async () => {
    const gateway = await fixture.start();
    for (const [content, issue] of [
      ["{ gateway: ", "is not JSON5"],
      [{ ...baseConfig, sesion: {} }, 'sesion: unknown key; did you mean "session"?'],
      [
        { ...baseConfig, hooks: { enabled: true, token: hookToken, mappings: [{ action: "wak" }] } },
        "hooks.mappings[0].action",
      ],
    ] as const) {
      fixture.write(content);
      expect(await gateway.reload()).toEqual({ applied: false, restartNeeded: [] });
      expect(fixture.logged("error").at(-1)).toContain(
        "The new configuration is refused; the one before stays in force.",
      );
      expect(fixture.logged("error").at(-1)).toContain(issue);
      expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
    }
  });

  it("takes new tokens at once, for hooks and for the API", async () => {
    const gateway = await fixture.start();
    fixture.write({
      ...baseConfig,
      gateway: { ...baseConfig.gateway, auth: { token: "another-gateway-token-for-it" } },
      hooks: { enabled: true, token: ["another-hook-token-for-the-hook", hookToken] },
    });
    await gateway.reload();
    expect((await readApi(gateway, "sessions")).status).toBe(401);
    expect((await readApi(gateway, "sessions", "another-gateway-token-for-it")).status).toBe(200);
    for (const token of ["another-hook-token-for-the-hook", hookToken]) {
      expect((await callHook(gateway, "/hooks/wake", { text: "x" }, token)).status).toBe(200);
    }
  });

  it("names what takes a restart, and takes the rest into use", async () => {
    const gateway = await fixture.start();
    mkdirSync(join(fixture.folder, "p"));
    fixture.write({
      ...renamed,
      gateway: { ...baseConfig.gateway, port: 1, bind: "lan" },
      plugins: { load: { paths: ["./p"] }, entries: { p: {} } },
    });
    const keys = ["gateway.port", "gateway.bind", "plugins.load.paths", "plugins.entries"];
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: keys });
    // They are not in force yet, so they are named again.
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: keys });
    expect(fixture.logged("warn").at(-1)).toBe(
      ["Some changed keys take effect when the gateway is restarted.", ...keys].join("\n"),
    );
    expect((await callHook(gateway, "/other/wake", { text: "x" })).status).toBe(200);
  });

  it("keeps the rest in force, and says so, when a plugin breaks its promise not to throw", async () => {
    let breaks = false;
    const careless = plugin((host) => {
      host.lifecycle.onConfigLoad.tap("careless", (snapshot) => {
        snapshot.onCommit(() => {
          if (breaks) throw new Error("broke in commit");
        });
      });
      host.lifecycle.onHttpRoute.tap("careless", () => {
        if (breaks) throw new Error("broke in route");
      });
    });
    const gateway = await fixture.start({ plugins: [careless] });
    breaks = true;
    expect(await gateway.reload()).toMatchObject({ applied: true });
    const reported = fixture.logger.lines
      .filter(({ level }) => level === "error")
      .map(({ fields }) => String(fields.err));
    expect(reported).toHaveLength(2);
    expect(reported.join()).toContain("broke in commit");
    expect(reported.join()).toContain('Hook "onHttpRoute", tap "careless": broke in route');
    expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
  });

  it("reports what a plugin throws besides a refusal with its error", async () => {
    let breaks = false;
    const careless = plugin((host) => {
      host.lifecycle.onConfigLoad.tap("careless", () => {
        if (breaks) throw new TypeError("undefined is not a function");
      });
    });
    const gateway = await fixture.start({ plugins: [careless] });
    breaks = true;
    expect(await gateway.reload()).toMatchObject({ applied: false });
    expect(String(fixture.logger.lines.at(-1)?.fields.err)).toContain('tap "careless": undefined is not a function');
  });

  it("refuses a commit that is registered after the hook has ended", async () => {
    let late = (): void => {};
    const slow = plugin((host) => {
      host.lifecycle.onConfigLoad.tap("slow", (snapshot) => {
        late = () => {
          snapshot.onCommit(() => {});
        };
      });
    });
    await fixture.start({ plugins: [slow] });
    expect(late).toThrow("onCommit() was called after onConfigLoad had ended.");
  });

  it("reports that the file is gone, and goes on", async () => {
    const gateway = await fixture.start();
    rmSync(fixture.configFile);
    await vi.waitFor(() => {
      expect(fixture.logged("error").at(-1)).toContain("the configuration cannot be read (ENOENT)");
    }, 10_000);
    expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
  });

  it("does not wait for ever, when it is stopped, for a plugin that never makes up its mind", async () => {
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, shutdownSeconds: 0 } });
    const undecided = plugin((host) => {
      host.lifecycle.onConfigLoad.tapPromise("undecided", async ({ reason }) => {
        if (reason === "reload") await new Promise(() => {});
      });
    });
    const gateway = await fixture.start({ plugins: [undecided] });
    void gateway.reload();
    await gateway.stop();
    await fixture.start();
  });

  it("reads nothing any more once it is stopping", async () => {
    const gateway = await fixture.start();
    const stopped = gateway.stop();
    expect(await gateway.reload()).toEqual({ applied: false, restartNeeded: [] });
    await stopped;
  });

  it("sees a change that came before it watched the file", async () => {
    const gateway = await fixture.start({
      plugins: [
        plugin((host) => {
          host.lifecycle.onHttpRoute.tap("editor", () => {
            if (existsSync(join(fixture.folder, "edited"))) return;
            writeFileSync(join(fixture.folder, "edited"), "");
            fixture.write(renamed);
          });
        }),
      ],
    });
    expect((await callHook(gateway, "/other/wake", { text: "x" })).status).toBe(200);
  });
});

describe("EmbeddedGateway.stop", () => {
  it("lets a request under way finish, and stops once however often it is asked to", async () => {
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
