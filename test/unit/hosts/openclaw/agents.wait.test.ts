/** What the adapter makes of the host's answers to the question whether a run has ended. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AgentRunRequest, AgentRunResult } from "../../../../src/core/host.ts";
import type { LatestTurn } from "../../../../src/hosts/openclaw/event-queue.ts";
import { OpenClawAgents } from "../../../../src/hosts/openclaw/agents.ts";
import { openClawLogger } from "../../../../src/hosts/openclaw/logger.ts";
import type { SubagentOutcome } from "../../../../src/hosts/openclaw/sdk.ts";
import { OpenClawState } from "../../../../src/hosts/openclaw/state.ts";
import { OPENCLAW_MODULE_URL } from "../../../../src/hosts/openclaw/sqlite-state-module.ts";
import { SqliteDatabase } from "../../../../src/storage/sqlite/engine/database.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { runRequest } from "./run-request.ts";

const LONG_AGO = 60_000;
/** A run begins with a commit on disk. */
const patience = { timeout: 10_000, interval: 20 };

let openClaw: FakeOpenClaw;
let database: SqliteDatabase;
let asked: number;
/** What the host answers; the last one again and again. */
let answers: readonly SubagentOutcome[];
let turn: LatestTurn | undefined;
let latestTurn: (() => LatestTurn | undefined) | undefined;

beforeEach(async () => {
  openClaw = new FakeOpenClaw();
  const logger = openClawLogger(openClaw.logger);
  const file = join(openClaw.stateDir, "reveille.sqlite");
  database = await SqliteDatabase.open({ file, modules: [OPENCLAW_MODULE_URL], logger });
  asked = 0;
  turn = undefined;
  latestTurn = () => turn;
});

afterEach(async () => {
  await database.close();
  openClaw[Symbol.dispose]();
});

function run(given: Partial<AgentRunRequest> = {}): Promise<AgentRunResult> {
  const { subagent } = openClaw.api.runtime;
  const agents = new OpenClawAgents({
    pluginId: "reveille",
    config: () => openClaw.config,
    subagent: {
      ...subagent,
      waitForRun: async () => answers[Math.min(asked++, answers.length - 1)] as SubagentOutcome,
    },
    state: new OpenClawState(database, { now: () => Date.now() }),
    ...(latestTurn === undefined ? {} : { latestTurn }),
    logger: openClawLogger(openClaw.logger),
  });
  return agents.run(runRequest(given));
}

it("takes a timeout with an end for the end of the run, and asks no further", async () => {
  answers = [{ status: "timeout", endedAt: Date.now(), error: "the agent's own limit" }];
  expect(await run()).toEqual({ status: "timeout", reply: "", error: "the agent's own limit" });
  expect(asked).toBe(1);
  answers = [{ status: "timeout", endedAt: Date.now() }];
  const next = await run({ runId: "b" });
  expect(next).toMatchObject({ status: "timeout", error: expect.stringContaining("a time limit of its own") });
});

it("keeps waiting when only the wait has timed out, or when the host may try again", async () => {
  answers = [
    { status: "timeout" },
    { status: "timeout", endedAt: Date.now(), pendingError: true, error: "overloaded" },
    { status: "ok", terminalReply: { text: "late" } },
  ];
  expect(await run()).toEqual({ status: "ok", reply: "late" });
  expect(asked).toBe(3);
});

it("does not ask a host again and again that answers at once", async () => {
  answers = [{ status: "timeout" }];
  expect((await run({ timeoutMs: 1_000 })).status).toBe("timeout");
  expect(asked).toBeLessThan(10);
});

it("settles a run that the host has lost by its session's records", async () => {
  answers = [{ status: "timeout" }];
  openClaw.messages = [{ role: "assistant", text: "It is red." }];
  turn = { status: "done", endedAt: Date.now() - LONG_AGO };
  expect(await run({ runId: "a" })).toEqual({ status: "ok", reply: "It is red." });
  turn = { status: "timeout", endedAt: Date.now() - LONG_AGO };
  expect((await run({ runId: "b" })).status).toBe("timeout");
  turn = { status: "killed", endedAt: Date.now() - LONG_AGO };
  expect(await run({ runId: "c" })).toMatchObject({
    status: "error",
    retryable: false,
    error: "The host has lost the run; its session is killed.",
  });
  turn = { endedAt: Date.now() - LONG_AGO };
  expect((await run({ runId: "d" })).error).toContain("its session is ended");
  expect(openClaw.log.filter((line) => line.includes("did not report the end"))).toHaveLength(4);
});

it("leaves a run alone whose session continues, has ended just now, or is not known", async () => {
  answers = [{ status: "timeout" }];
  const ending = new AbortController();
  turn = { status: "running" };
  const running = run({ signal: ending.signal, timeoutMs: 60_000 });
  await vi.waitFor(() => expect(asked).toBeGreaterThan(1), patience);
  turn = { status: "done", endedAt: Date.now() };
  let before = asked;
  await vi.waitFor(() => expect(asked).toBeGreaterThan(before + 1), patience);
  turn = undefined;
  before = asked;
  await vi.waitFor(() => expect(asked).toBeGreaterThan(before + 1), patience);
  ending.abort();
  expect((await running).status).toBe("aborted");
});

it("ends in the host what it takes to be lost, once its messages were read", async () => {
  answers = [{ status: "timeout" }];
  openClaw.messages = [{ role: "assistant", text: "It is red." }];
  turn = { status: "done", endedAt: Date.now() - LONG_AGO };
  const { subagent } = openClaw.api.runtime;
  vi.spyOn(subagent, "deleteSession").mockImplementation(async ({ sessionKey }) => {
    openClaw.messages = [];
    openClaw.deleted.push(sessionKey);
  });
  expect(await run()).toEqual({ status: "ok", reply: "It is red." });
  expect(openClaw.deleted).toHaveLength(1);
});

it("keeps waiting for a session that has ended a turn and still runs", async () => {
  answers = [{ status: "timeout" }, { status: "timeout" }, { status: "ok", terminalReply: { text: "late" } }];
  turn = { status: "running", endedAt: Date.now() - LONG_AGO };
  expect(await run()).toEqual({ status: "ok", reply: "late" });
});

it("keeps waiting when the host's store cannot be read", async () => {
  answers = [{ status: "timeout" }, { status: "timeout" }, { status: "ok", terminalReply: { text: "late" } }];
  latestTurn = () => {
    throw new Error("database is locked");
  };
  expect(await run()).toEqual({ status: "ok", reply: "late" });
});

it("takes the last turn's answer of a run whose first one has yielded", async () => {
  answers = [{ status: "ok", yielded: true, endedAt: Date.now(), terminalReply: { text: "I wait for the others." } }];
  turn = { status: "running", endedAt: Date.now() - LONG_AGO };
  let isDone = false;
  const running = run({ timeoutMs: 60_000 }).finally(() => (isDone = true));
  await vi.waitFor(() => expect(asked).toBe(1), patience);
  turn = undefined;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(isDone).toBe(false);
  openClaw.messages = [{ role: "assistant", text: "All three are red." }];
  turn = { status: "done", endedAt: Date.now() };
  expect(await running).toEqual({ status: "ok", reply: "All three are red." });
});

it("reports the end of a turn that followed a yielded one, and ends it after its time", async () => {
  answers = [{ status: "ok", yielded: true, endedAt: Date.now() }];
  openClaw.messages = [{ role: "assistant", text: "I wait." }];
  turn = { status: "failed", endedAt: Date.now() };
  expect(await run({ runId: "a" })).toMatchObject({
    status: "error",
    retryable: false,
    error: "A turn that followed did not succeed; its session is failed.",
  });
  turn = { status: "running", endedAt: Date.now() };
  expect((await run({ runId: "b", timeoutMs: 50 })).status).toBe("timeout");
  expect(openClaw.deleted).toHaveLength(1);
});

it("takes a yielded turn for the end on a host that does not report turns", async () => {
  answers = [{ status: "ok", yielded: true, endedAt: Date.now() }];
  openClaw.messages = [{ role: "assistant", text: "I wait." }];
  turn = { endedAt: Infinity };
  expect(await run({ runId: "a" })).toEqual({ status: "ok", reply: "I wait." });
  latestTurn = undefined;
  expect(await run({ runId: "b" })).toEqual({ status: "ok", reply: "I wait." });
});
