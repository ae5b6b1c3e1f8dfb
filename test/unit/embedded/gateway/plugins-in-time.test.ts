import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { join } from "node:path";
import { ConfigError } from "../../../../src/config/config-error.ts";
import { loadPluginsInTime } from "../../../../src/embedded/plugins-in-time.ts";
import * as publicApi from "../../../../src/index.ts";
import { GatewayFixture } from "./gateway-fixture.ts";
import { writePlugin } from "./rules-plugin.ts";

let fixture: GatewayFixture;
beforeEach(() => {
  fixture = new GatewayFixture();
});
afterEach(() => fixture.remove());

describe("loadPluginsInTime", () => {
  it("refuses plugins that do not finish loading, and says where to look", async () => {
    writePlugin(fixture, "slow", "await new Promise(() => {}); export default class { apply() {} }");
    const config = { load: [join(fixture.folder, "slow")], entries: new Map() };
    const { logger } = fixture;
    const loading = loadPluginsInTime(config, { logger, publicApi, loadTimeoutMs: 100 });
    await expect(loading).rejects.toThrow(ConfigError);
    await expect(loading).rejects.toThrow(
      "plugins.load.paths: have not finished loading after 100 ms; look at the top-level awaits of the plugins",
    );
  });

  it("loads them in order when they do", async () => {
    writePlugin(fixture, "first");
    writePlugin(fixture, "second");
    const load = ["second", "first"].map((id) => join(fixture.folder, id));
    const { logger } = fixture;
    const entries = new Map(["first", "second"].map((id) => [id, { enabled: true, config: {} }]));
    const loaded = await loadPluginsInTime({ load, entries }, { logger, publicApi });
    expect(loaded.map(({ id }) => id)).toEqual(["second", "first"]);
  });
});
