import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigError } from "../../../../../src/config/errors.ts";
import { loadPlugins } from "../../../../../src/hosts/embedded/plugins/load.ts";
import * as publicApi from "../../../../../src/index.ts";
import { GatewayFixture } from "../gateway/fixture.ts";
import { writePlugin } from "../gateway/rules-plugin.ts";

let fixture: GatewayFixture;
beforeEach(() => {
  fixture = new GatewayFixture();
});
afterEach(() => fixture.remove());

describe("the load timeout of a plugin", () => {
  it("refuses plugins that do not finish loading, and says where to look", async () => {
    writePlugin(fixture, "slow", "await new Promise(() => {}); export default class { apply() {} }");
    const config = { load: [join(fixture.folder, "slow")], entries: new Map() };
    const { logger } = fixture;
    const loading = loadPlugins(config, { logger, publicApi, loadTimeoutMs: 100 });
    await expect(loading).rejects.toThrow(ConfigError);
    await expect(loading).rejects.toThrow(
      `plugins.load.paths[0]: ${join(fixture.folder, "slow", "plugin.json")}: the plugin has not finished loading after 100 ms; look at its top-level awaits`,
    );
  });

  it("constructs none that has finished loading too late", async () => {
    const [gate, made] = ["gate", "made"].map((name) => join(fixture.folder, name)) as [string, string];
    writePlugin(
      fixture,
      "slow",
      `import { existsSync, writeFileSync } from "node:fs";
      while (!existsSync(${JSON.stringify(gate)})) await new Promise((resolve) => setTimeout(resolve, 5));
      writeFileSync(${JSON.stringify(`${gate}-passed`)}, "");
      export default class { constructor() { writeFileSync(${JSON.stringify(made)}, ""); } apply() {} }`,
    );
    const config = { load: [join(fixture.folder, "slow")], entries: new Map() };
    const { logger } = fixture;
    await expect(loadPlugins(config, { logger, publicApi, loadTimeoutMs: 100 })).rejects.toThrow(ConfigError);
    writeFileSync(gate, "");
    await vi.waitFor(() => expect(existsSync(`${gate}-passed`)).toBe(true), { timeout: 10_000, interval: 5 });
    await sleep(50);
    expect(existsSync(made)).toBe(false);
  });

  it("loads them in order when they do", async () => {
    writePlugin(fixture, "first");
    writePlugin(fixture, "second");
    const load = ["second", "first"].map((id) => join(fixture.folder, id));
    const { logger } = fixture;
    const entries = new Map(["first", "second"].map((id) => [id, { enabled: true, config: {} }]));
    const loaded = await loadPlugins({ load, entries }, { logger, publicApi });
    expect(loaded.map(({ id }) => id)).toEqual(["second", "first"]);
  });
});
