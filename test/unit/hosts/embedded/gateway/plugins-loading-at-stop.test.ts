import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../../../src/hosts/embedded/gateway.ts";
import { baseConfig } from "./fixture.ts";
import { RulesFixture } from "./rules-fixture.ts";
import { configWith, readDiary, writePlugin } from "./rules-plugin.ts";

const SOON = { timeout: 15_000, interval: 5 };
const REFUSED = { applied: false, restartNeeded: [] };

let fixture: RulesFixture;
beforeEach(() => {
  fixture = new RulesFixture();
});
afterEach(() => fixture.remove());

describe("plugins that are being loaded when the gateway stops", () => {
  async function loading(shutdownSeconds: number): Promise<{ gateway: EmbeddedGateway; reloading: Promise<object> }> {
    fixture.write({ ...baseConfig, gateway: { ...baseConfig.gateway, shutdownSeconds } });
    const gateway = await fixture.start();
    const source = `
      import { appendFileSync, existsSync } from "node:fs";
      import { setTimeout as sleep } from "node:timers/promises";
      const note = (what) => appendFileSync(${JSON.stringify(fixture.diary)}, what + "\\n");
      note("loading");
      while (!existsSync(${JSON.stringify(fixture.gate)})) await sleep(5);
      export default class {
        apply(host) {
          note("applied");
          host.lifecycle.onConfigLoad.tap("late", () => note("loads"));
          host.lifecycle.onShutdown.tap("late", () => note("shut down"));
        }
      }`;
    writePlugin(fixture, "late", source);
    fixture.write({ ...configWith({ late: {} }), gateway: { ...baseConfig.gateway, shutdownSeconds } });
    const reloading = gateway.reload();
    await vi.waitFor(() => expect(readDiary(fixture.diary)).toEqual(["loading"]), SOON);
    return { gateway, reloading };
  }

  it("are not applied any more once it has stopped", async () => {
    const { gateway, reloading } = await loading(0);
    await gateway.stop();
    fixture.openGate();
    expect(await reloading).toEqual(REFUSED);
    expect(readDiary(fixture.diary)).toEqual(["loading"]);
  });

  it("are given no configuration, and shut down with the others, while it waits for them", async () => {
    const { gateway, reloading } = await loading(30);
    const stopped = gateway.stop();
    fixture.openGate();
    expect(await reloading).toEqual(REFUSED);
    await stopped;
    expect(readDiary(fixture.diary)).toEqual(["loading", "applied", "shut down"]);
    expect(fixture.logged("error")).toEqual([]);
  });
});
