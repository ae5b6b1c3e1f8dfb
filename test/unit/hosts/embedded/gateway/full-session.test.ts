import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readGatewayConfig } from "../../../../../src/hosts/embedded/config/read.ts";
import { openGatewayParts } from "../../../../../src/hosts/embedded/gateway-parts.ts";
import type { GatewayParts } from "../../../../../src/hosts/embedded/gateway-parts.ts";
import { SESSION_LIMITS } from "../../../../../src/hosts/shared/state-operations.ts";
import { HostError } from "../../../../../src/core/host.ts";
import { recordingLogger } from "../server/recording-logger.ts";
import { baseConfig, GatewayFixture } from "./fixture.ts";

describe("a main session that can take no more events", () => {
  let folder: string;
  let parts: GatewayParts;

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
    await fixture.remove();
  });
  afterEach(async () => {
    await parts.heartbeat.stop(Date.now());
    await parts.database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is given a turn that makes room, also when the periodic heartbeat is off", async () => {
    const { sessions } = parts.createHost();
    const sessionKey = sessions.mainSessionKey("main");
    const enqueue = (at: number) =>
      sessions.enqueueSystemEvent({ sessionKey, text: `event ${at}`, idempotencyKey: `event-${at}` });
    parts.heartbeat.start();
    await Promise.all(Array.from({ length: SESSION_LIMITS.maxPendingEvents }, (_, at) => enqueue(at)));
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
});
