import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EmbeddedGateway } from "../../../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture, readApi } from "./fixture.ts";

let fixture: GatewayFixture;
let gateway: EmbeddedGateway;
let now = 0;

beforeEach(async () => {
  fixture = new GatewayFixture();
  gateway = await fixture.start({ clock: { now: () => Date.now() + now } });
});
afterEach(() => fixture.remove());

async function ready(): Promise<readonly [number, unknown]> {
  const response = await fetch(`${gateway.url}/ready`);
  return [response.status, await response.json()];
}

const READY = [200, { ok: true, status: "ready", problems: [] }] as const;

describe("GET /ready", () => {
  it("answers 200 without a token while calls can be accepted, and takes no other method", async () => {
    expect(await ready()).toEqual(READY);
    expect((await fetch(`${gateway.url}/ready`, { method: "POST" })).status).toBe(405);
  });

  it("answers 503 while the database takes no writes, and /health stays live", async () => {
    const other = new DatabaseSync(join(fixture.stateDir, "reveille.sqlite"));
    other.exec("BEGIN IMMEDIATE");
    const problem = { code: "STORE_UNAVAILABLE", message: expect.stringContaining("takes no writes") as string };
    expect(await ready()).toEqual([503, { ok: false, status: "not ready", problems: [problem] }]);
    expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
    other.exec("ROLLBACK");
    other.close();
    now += 60_000;
    expect(await ready()).toEqual(READY);
  }, 60_000);

  it("names a refused file and stays ready; the API has what is wrong in it", async () => {
    fixture.write({ ...baseConfig, hooks: { ...baseConfig.hooks, presets: ["no-such"] } });
    await gateway.reload();
    const problem = {
      code: "CONFIG_REFUSED",
      message: expect.stringMatching(/refused at \d{4}-.*stays active/u) as string,
    };
    expect(await ready()).toEqual([200, { ok: true, status: "degraded", problems: [problem] }]);
    const status = (await (await readApi(gateway, "status")).json()) as { refused: { issues: string[] } };
    expect(status).toMatchObject({ ready: true, problems: [problem], freeDiskBytes: expect.any(Number) as number });
    expect(status.refused.issues.join("\n")).toContain("hooks.presets[0]");
    expect((await fetch(`${gateway.url}/api/v1/status`)).status).toBe(401);

    fixture.write(baseConfig);
    await gateway.reload();
    expect(await ready()).toEqual(READY);
    expect(await (await readApi(gateway, "status")).json()).toMatchObject({ refused: null, problems: [] });
  });

  it("answers 503 while a plugin that may hold rules is set aside, so that all hooks answer 503", async () => {
    await gateway.stop();
    const folder = join(fixture.folder, "rules");
    mkdirSync(folder);
    writeFileSync(join(folder, "plugin.json"), JSON.stringify({ id: "rules", entry: "rules.js", pluginApi: "1" }));
    writeFileSync(join(folder, "rules.js"), 'throw new Error("not today");');
    const config = { ...baseConfig, plugins: { load: { paths: ["rules"] } } };
    fixture.write(config);
    gateway = await fixture.start();
    expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(503);
    const problem = { code: "HOOKS_CLOSED", message: expect.stringContaining("a plugin") as string };
    expect(await ready()).toEqual([503, { ok: false, status: "not ready", problems: [problem] }]);

    fixture.write({ ...config, hooks: { ...baseConfig.hooks, enabled: false } });
    await gateway.reload();
    expect(await ready()).toEqual(READY);
  });
});
