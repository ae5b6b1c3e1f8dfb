import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readGatewayConfig } from "../../../../../src/hosts/embedded/config/read.ts";
import { openGatewayParts } from "../../../../../src/hosts/embedded/gateway-parts.ts";
import type { GatewayParts } from "../../../../../src/hosts/embedded/gateway-parts.ts";
import { recordingLogger } from "../server/recording-logger.ts";
import { baseConfig, GatewayFixture } from "./fixture.ts";

describe("a gateway while another one carries out the runs", () => {
  let fixture: GatewayFixture;
  let parts: GatewayParts;
  let printed: string[];

  beforeEach(async () => {
    fixture = new GatewayFixture(baseConfig);
    printed = [];
    const { config } = readGatewayConfig({ file: fixture.configFile, env: {}, overrides: {} });
    parts = await openGatewayParts({
      config: () => config,
      stateDir: fixture.stateDir,
      clock: { now: () => Date.now() },
      logger: recordingLogger(),
      print: ({ text }) => printed.push(text),
      decide: () => Promise.resolve({ kind: "unknown" }),
    });
    await parts.takeDatabase(undefined);
  });
  afterEach(async () => {
    await parts.stop(Date.now());
    await parts.database.close();
    await fixture.remove();
  });

  it("sends nothing that waits, and gives sessions no turns, before it has the runs", async () => {
    const begin = vi.spyOn(parts.heartbeat, "start");
    await parts.channels.queue({ channel: "console", to: "owner", text: "The answer.", idempotencyKey: "one" });
    const leading = Promise.withResolvers<void>();
    parts.start(leading.promise);
    parts.heartbeat.wakeSender();
    await new Promise((resolve) => setImmediate(resolve));
    expect([printed, begin.mock.calls.length]).toEqual([[], 0]);
    leading.resolve();
    await expect.poll(() => printed).toEqual(["The answer."]);
    expect(begin).toHaveBeenCalledTimes(1);
  });
});
