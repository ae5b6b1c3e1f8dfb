import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { TranscriptRetention } from "../../../../../src/hosts/embedded/state/transcript-retention.ts";
import { gatewayConfig, TemporaryGateway } from "./temporary-gateway.ts";

const DAY_MS = 86_400_000;
const pauses = { busyMs: 1, idleMs: 2 };
const SOON = { timeout: 15_000 };
let gateway: TemporaryGateway;

beforeAll(async () => {
  gateway = await TemporaryGateway.open();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

async function run(runId: string): Promise<void> {
  await gateway.sessions.beginRun({ sessionKey: "hook:x", runId, prompt: `prompt of ${runId}` });
  await gateway.sessions.endRun({ sessionKey: "hook:x", runId, role: "assistant", text: `reply of ${runId}` });
}

it("transcripts of runs are removed after the time that the active configuration says, round after round", async () => {
  const { sessions, logger } = gateway;
  const retention = new TranscriptRetention({ sessions, logger, pauses });
  onTestFinished(() => retention.stop());
  for (let at = 0; at < 40; at++) await run(`old-${at}`);
  gateway.now += 20 * DAY_MS;
  await run("young");
  gateway.now += 5 * DAY_MS;
  retention.start();
  gateway.config = gatewayConfig({ session: { ...gateway.config.session, isolatedRetentionMs: 10 * DAY_MS } });
  await vi.waitFor(
    async () => expect(await gateway.texts("hook:x")).toEqual(["user: prompt of young", "assistant: reply of young"]),
    SOON,
  );
  gateway.now += 6 * DAY_MS;
  await vi.waitFor(async () => expect(await gateway.texts("hook:x")).toEqual([]), SOON);
  expect(logger.lines).toEqual([]);
});

it("the oldest transcripts are removed while they take more than the active configuration allows, also after a restart", async () => {
  await gateway.reset();
  const { logger } = gateway;
  await gateway.sessions.appendTurn({
    sessionKey: "agent:main:main",
    turnId: "t",
    user: "asked",
    assistant: "said",
    eventIds: [],
  });
  for (let at = 0; at < 20; at++) await run(`r${at}`);
  await gateway.sessions.beginRun({ sessionKey: "hook:y", runId: "under way", prompt: "prompt of the one under way" });
  for (let at = 20; at < 24; at++) await run(`r${at}`);
  const keep = async (isolatedMaxBytes: number, count: number): Promise<void> => {
    gateway.config = gatewayConfig({ session: { ...gateway.config.session, isolatedMaxBytes } });
    const retention = new TranscriptRetention({ sessions: gateway.sessions, logger, pauses });
    retention.start();
    await vi.waitFor(async () => expect(await gateway.texts("hook:x")).toHaveLength(count), SOON);
    await retention.stop();
  };
  await keep(10_000, 46);
  await gateway.restart();
  await keep(1_200, 4);
  expect(await gateway.texts("hook:x")).toEqual([
    "user: prompt of r22",
    "assistant: reply of r22",
    "user: prompt of r23",
    "assistant: reply of r23",
  ]);
  expect(await gateway.texts("hook:y")).toEqual(["user: prompt of the one under way"]);
  gateway.now += DAY_MS + 1;
  await keep(800, 3);
  expect(await gateway.texts("hook:y")).toEqual([]);
  expect(await gateway.texts()).toEqual(["user: asked", "assistant: said"]);
  expect(logger.lines).toEqual([]);
});

it("a database that cannot be written is reported once and tried again", async () => {
  let calls = 0;
  const sessions = {
    forgetRuns: () => {
      calls++;
      return Promise.reject(new Error("the disk is full"));
    },
  };
  const { logger } = gateway;
  const retention = new TranscriptRetention({ sessions, logger, pauses });
  retention.start();
  await vi.waitFor(() => expect(calls).toBeGreaterThan(2), SOON);
  await retention.stop();
  expect(logger.lines.map(({ message }) => message)).toEqual([
    "old transcripts could not be removed; the next try is in a minute",
  ]);
});
