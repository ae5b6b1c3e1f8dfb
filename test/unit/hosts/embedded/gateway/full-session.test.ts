import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readGatewayConfig } from "../../../../../src/hosts/embedded/config/read.ts";
import { openGatewayParts } from "../../../../../src/hosts/embedded/gateway-parts.ts";
import type { GatewayParts } from "../../../../../src/hosts/embedded/gateway-parts.ts";
import { SESSION_LIMITS } from "../../../../../src/hosts/shared/state-operations.ts";
import { type GatewayHost, HostError } from "../../../../../src/core/host.ts";
import { recordingLogger } from "../server/recording-logger.ts";
import { baseConfig, GatewayFixture } from "./fixture.ts";

describe("a main session that can take no more events", () => {
  let folder: string;
  let parts: GatewayParts;
  let host: GatewayHost;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "reveille-full-"));
    const fixture = new GatewayFixture(baseConfig);
    const { config } = readGatewayConfig({ file: fixture.configFile, env: {}, overrides: {} });
    parts = await openGatewayParts({
      config: () => config,
      stateDir: folder,
      clock: { now: () => Date.now() },
      logger: recordingLogger(),
      decide: () => Promise.resolve({ kind: "unknown" }),
    });
    await parts.takeDatabase(undefined);
    host = parts.createHost();
    await fixture.remove();
  });
  afterEach(async () => {
    await parts.heartbeat.stop(Date.now());
    await parts.database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const sessionKey = "agent:main:main";
  const enqueue = (at: number) =>
    host.sessions.enqueueSystemEvent({ sessionKey, text: `event ${at}`, idempotencyKey: `event-${at}` });
  const fill = (events: number) => Promise.all(Array.from({ length: events }, (_, at) => enqueue(at)));

  it("is given a turn that makes room, also when the periodic heartbeat is off", async () => {
    await fill(SESSION_LIMITS.maxPendingEvents);
    parts.heartbeat.start();
    await expect(enqueue(-1)).rejects.toBeInstanceOf(HostError);
    await expect
      .poll(
        () =>
          enqueue(-1).then(
            () => "taken",
            () => "full",
          ),
        { timeout: 15_000 },
      )
      .toBe("taken");
  });

  it("is given a turn while it has room, so that no event has to wait", async () => {
    const most = 0.9 * SESSION_LIMITS.maxPendingEvents;
    parts.heartbeat.start();
    await fill(most);
    expect(parts.heartbeat.remembers(sessionKey)).toBe(false);
    await enqueue(most);
    expect(parts.heartbeat.remembers(sessionKey)).toBe(true);
    const oldest = async () => (await parts.sessions.turnEvents(sessionKey, { limit: 1, maxChars: 100 }))[0]?.text;
    await expect.poll(oldest, { timeout: 15_000 }).not.toBe("event 0");
  });
});
