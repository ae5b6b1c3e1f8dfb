import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { GatewayHost, GatewayPlugin } from "../../../../../src/core/host.ts";
import { baseConfig, callHook, GatewayFixture, hookToken, readApi } from "./fixture.ts";

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
    expect(fixture.logged("info")).toContain("configuration applied");
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
      expect(fixture.logged("error").at(-1)).toContain("configuration refused; the active one stays");
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
    fixture.write({ ...renamed, gateway: { ...baseConfig.gateway, port: 1, bind: "lan" } });
    const keys = ["gateway.port", "gateway.bind"];
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: keys });
    // They are not active yet, so they are named again.
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: keys });
    expect(fixture.logged("warn").at(-1)).toBe(["some changed keys take effect at the next start", ...keys].join("\n"));
    expect((await callHook(gateway, "/other/wake", { text: "x" })).status).toBe(200);
  });

  it("refuses a token that is too short for the address of the next start, and takes it for this one again", async () => {
    const hooks = { ...baseConfig.hooks, token: "a-short-hook-token" };
    fixture.write({ ...baseConfig, hooks });
    const gateway = await fixture.start();
    fixture.write({ ...baseConfig, hooks, gateway: { ...baseConfig.gateway, bind: "lan" } });
    expect((await gateway.reload()).applied).toBe(false);
    expect(fixture.logged("error").at(-1)).toContain("hooks.token: has fewer than 24 characters");
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, bind: "lan" } });
    expect((await gateway.reload()).applied).toBe(true);
    fixture.write({ ...baseConfig, hooks });
    expect((await gateway.reload()).applied).toBe(true);
  });

  it("names the export of traces among what takes a restart", async () => {
    const gateway = await fixture.start();
    fixture.write({ ...baseConfig, telemetry: { otlp: { url: "http://127.0.0.1:9" } } });
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: ["telemetry.otlp"] });
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: ["telemetry.otlp"] });
    fixture.write(baseConfig);
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: [] });
  });

  it("keeps the rest active, and says so, when a plugin breaks its promise not to throw", async () => {
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

  it("reports that the file is gone, and continues", async () => {
    const gateway = await fixture.start();
    rmSync(fixture.configFile);
    await vi.waitFor(() => {
      expect(fixture.logged("error").at(-1)).toContain("the configuration cannot be read (ENOENT)");
    }, 10_000);
    expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
  });

  it("does not wait for ever, when it is stopped, for a plugin that never makes up its mind", async () => {
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, shutdownSeconds: 0 } });
    const asked = Promise.withResolvers<void>();
    const undecided = plugin((host) => {
      host.lifecycle.onConfigLoad.tapPromise("undecided", async ({ reason }) => {
        if (reason !== "reload") return;
        asked.resolve();
        await new Promise(() => {});
      });
    });
    const gateway = await fixture.start({ plugins: [undecided] });
    void gateway.reload();
    await asked.promise;
    await gateway.stop();
    expect(String(fixture.logger.lines.at(-1)?.fields["err"])).toContain("has not come to an end by the deadline");
    await fixture.start();
  });

  it("takes nothing into use that a plugin accepts only after it was stopped", async () => {
    const accepted = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const commits: string[] = [];
    const slow = plugin((host) => {
      host.lifecycle.onConfigLoad.tapPromise("slow", async (snapshot) => {
        const { reason } = snapshot;
        snapshot.onCommit(() => void commits.push(reason));
        if (reason !== "reload") return;
        asked.resolve();
        await accepted.promise;
      });
    });
    const gateway = await fixture.start({ plugins: [slow] });
    const reloaded = gateway.reload();
    await asked.promise;
    const stopped = gateway.stop();
    accepted.resolve();
    expect(await reloaded).toEqual({ applied: false, restartNeeded: [] });
    await stopped;
    expect(commits).toEqual(["start"]);
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
