/** What happens to runs that the host does not end, or does not tell of, when it is asked to. */
import { expect, it, vi } from "vitest";
import { OpenClawAgents } from "../../../../src/hosts/openclaw/agents.ts";
import { OPENCLAW_LIMITS } from "../../../../src/hosts/openclaw/sqlite-state-module.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";
import { runRequest } from "./run-request.ts";

const GONE = new Error("the gateway is closing");
/** What a call of the instance that the host replaces is answered, before the host has looked at it. */
const INACTIVE = new Error('Plugin "reveille" runtime is no longer active.');
/** The same after the host may have begun what was asked. */
const RELOADED = new Error("Plugin reveille was reloaded or disabled; use its current tools.");
/** A call in that time is refused for longer than the adapter asks about anything else. */
const REFUSALS = 5;

it("does not repeat by itself a failed run whose messages cannot be read", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const read = vi.spyOn(openClaw.api.runtime.subagent, "getSessionMessages").mockRejectedValue(GONE);
  openClaw.outcome = { status: "error", error: "429 too many requests" };
  expect((await opened.host.agents.run(runRequest())).retryable).toBe(false);
  expect(read.mock.calls.length).toBeGreaterThan(1);
});

it("reads the messages of a failed run again when the first attempt fails", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  vi.spyOn(openClaw.api.runtime.subagent, "getSessionMessages").mockRejectedValueOnce(GONE);
  openClaw.outcome = { status: "error", error: "429 too many requests" };
  expect((await opened.host.agents.run(runRequest())).retryable).toBe(true);
});

it("repeats a run that the host's lanes refused at once, also when its messages cannot be read", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  vi.spyOn(openClaw.api.runtime.subagent, "getSessionMessages").mockRejectedValue(GONE);
  const error = "Gateway is draining; new tasks are not accepted";
  openClaw.outcome = { status: "error", error, startedAt: 5_000, endedAt: 5_010 };
  const timeoutMs = 1_000;
  expect((await opened.host.agents.run(runRequest({ timeoutMs }))).retryable).toBe(true);
  // A further model of the same turn is refused in the same words.
  openClaw.outcome = { status: "error", error, startedAt: 5_000, endedAt: 9_000 };
  expect((await opened.host.agents.run(runRequest({ runId: "b", timeoutMs }))).retryable).toBe(false);
  openClaw.outcome = { status: "error", error };
  expect((await opened.host.agents.run(runRequest({ runId: "c", timeoutMs }))).retryable).toBe(false);
});

it.each([
  "Gateway is draining; new tasks are not accepted",
  "In-process gateway dispatch requires a current gateway instance binding (method: sessions.get).",
])(
  "asks a host that refused a turn for its messages until it shows them, however long that took: %s",
  async (words) => {
    await using opened = await OpenGateway.start();
    const { openClaw } = opened;
    const error = "Gateway is draining; new tasks are not accepted";
    const read = vi.spyOn(openClaw.api.runtime.subagent, "getSessionMessages");
    for (let at = 0; at < REFUSALS; at++) read.mockRejectedValueOnce(new Error(words));
    openClaw.outcome = { status: "error", error, startedAt: 5_000, endedAt: 9_000 };
    openClaw.messages = [{ role: "user", content: runRequest().prompt }];
    expect((await opened.host.agents.run(runRequest())).retryable).toBe(true);

    for (let at = 0; at < REFUSALS; at++) read.mockRejectedValueOnce(new Error(words));
    openClaw.messages = [...openClaw.messages, { role: "toolResult", content: "sent" }];
    expect((await opened.host.agents.run(runRequest({ runId: "b" }))).retryable).toBe(false);
  },
);

it("takes a retired model for a permanent failure, and a retired plugin for a transient one", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  openClaw.outcome = { status: "error", error: "The model x-1 has been retired" };
  expect((await opened.host.agents.run(runRequest())).retryable).toBe(false);
  openClaw.outcome = { status: "error", error: "Prepared plugin generation has retired" };
  expect((await opened.host.agents.run(runRequest({ runId: "b" }))).retryable).toBe(true);
});

it("asks the host again to end a run that it did not end at first", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  openClaw.outcome = undefined;
  vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValueOnce(GONE);
  expect((await opened.host.agents.run(runRequest({ timeoutMs: 50 }))).status).toBe("timeout");
  expect(openClaw.deleted).toEqual([openClaw.runs[0]?.sessionKey]);
});

it("keeps a run open that the host does not end, so that the next process ends it", async () => {
  const openClaw = new FakeOpenClaw();
  const first = await OpenGateway.start({ openClaw });
  openClaw.outcome = undefined;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(GONE);
  expect((await first.host.agents.run(runRequest({ timeoutMs: 50 }))).status).toBe("timeout");
  await first.gateway.stop();
  ends.mockRestore();
  await using _second = await OpenGateway.start({ openClaw });
  expect(openClaw.deleted).toEqual([openClaw.runs[0]?.sessionKey]);
});

it("keeps what an earlier process has left open until the host has ended it", async () => {
  const openClaw = new FakeOpenClaw();
  const first = await OpenGateway.start({ openClaw });
  openClaw.outcome = undefined;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(GONE);
  await first.host.agents.run(runRequest({ timeoutMs: 50 }));
  await first.gateway.stop();
  const second = await OpenGateway.start({ openClaw });
  await second.gateway.stop();
  // The second one's last attempts, three at a time, are over when all have told of their failure.
  const told = (): readonly string[] =>
    openClaw.log.filter((line) => line.includes("session of a run could not be removed"));
  await vi.waitFor(() => expect(ends.mock.calls.length).toBe(3 * told().length), { timeout: 10_000, interval: 20 });
  ends.mockRestore();
  await using _third = await OpenGateway.start({ openClaw });
  expect(openClaw.deleted).toEqual([openClaw.runs[0]?.sessionKey]);
});

it("ends in its sweeps what the host did not end before, and then forgets it in time", async () => {
  const openClaw = new FakeOpenClaw();
  await using opened = await OpenGateway.start({ openClaw });
  openClaw.outcome = undefined;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(GONE);
  await opened.host.agents.run(runRequest({ timeoutMs: 50 }));
  ends.mockRestore();
  const { agents } = opened.host;
  if (!(agents instanceof OpenClawAgents)) throw new Error("The host has other agents.");
  await agents.removeOldSessions();
  await agents.removeOldSessions();
  expect(openClaw.deleted).toEqual([openClaw.runs[0]?.sessionKey]);
  const now = vi.spyOn(Date, "now").mockReturnValue(Date.now() + OPENCLAW_LIMITS.sessionTtlMs + 1_000);
  await agents.removeOldSessions();
  now.mockRestore();
  expect(openClaw.deleted).toHaveLength(2);
});

it("removes an old session later that the host does not remove at first, and not for many others meanwhile", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const agents = opened.host.agents as OpenClawAgents;
  await agents.run(runRequest());
  for (let run = 0; run < 11; run++) await agents.run(runRequest({ runId: `b${run}` }));
  const now = vi.spyOn(Date, "now").mockReturnValue(Date.now() + OPENCLAW_LIMITS.sessionTtlMs + 1_000);
  const remove = openClaw.api.runtime.subagent.deleteSession.bind(openClaw.api.runtime.subagent);
  const [first] = openClaw.runs;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(INACTIVE);
  await agents.removeOldSessions();
  expect(new Set(ends.mock.calls.map(([{ sessionKey }]) => sessionKey)).size).toBe(10);
  // One that is never removed keeps none of the others.
  ends.mockImplementation(async (asked) => {
    if (asked.sessionKey === first!.sessionKey) throw INACTIVE;
    await remove(asked);
  });
  await agents.removeOldSessions();
  expect(new Set(openClaw.deleted).size).toBe(11);
  ends.mockRestore();
  await agents.removeOldSessions();
  now.mockRestore();
  expect(openClaw.deleted.toSorted()).toEqual(openClaw.runs.map(({ sessionKey }) => sessionKey).toSorted());
});

it("does not give an id free again of which the host may have begun a run that it does not end", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(GONE);
  openClaw.refusals = [new Error("gateway request timed out")];
  await expect(opened.host.agents.run(runRequest())).rejects.toMatchObject({ retryable: false });
  await expect(opened.host.agents.run(runRequest())).rejects.toThrow("has begun before");
  expect(openClaw.runs).toEqual([]);
});

it("gives the id free again of a run that the host refused unseen, also when it ends nothing", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(GONE);
  openClaw.refusals = [new Error("agent unavailable during gateway restart")];
  await expect(opened.host.agents.run(runRequest())).rejects.toMatchObject({ retryable: true });
  expect((await opened.host.agents.run(runRequest())).status).toBe("ok");
});

it("may try a run again that the host refused because it reloads the plugin", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(INACTIVE);
  openClaw.refusals = [INACTIVE];
  await expect(opened.host.agents.run(runRequest())).rejects.toMatchObject({ retryable: true });
  expect((await opened.host.agents.run(runRequest())).status).toBe("ok");
});

it("ends a run that the host may have begun, once the host takes calls of the plugin again", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession");
  for (let at = 0; at < REFUSALS; at++) ends.mockRejectedValueOnce(INACTIVE);
  openClaw.refusals = [RELOADED];
  await expect(opened.host.agents.run(runRequest())).rejects.toMatchObject({ retryable: true });
  expect(openClaw.deleted).toHaveLength(1);
  expect((await opened.host.agents.run(runRequest())).status).toBe("ok");
});

it("waits for the reply of a run that ended while the host reloads the plugin", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const read = vi.spyOn(openClaw.api.runtime.subagent, "getSessionMessages");
  for (let at = 0; at < REFUSALS; at++) read.mockRejectedValueOnce(INACTIVE);
  openClaw.outcome = { status: "ok" };
  openClaw.messages = [{ role: "assistant", content: "It is done." }];
  expect(await opened.host.agents.run(runRequest())).toEqual({ status: "ok", reply: "It is done." });
});

it("waits no longer for it than until the plugin is stopped, so that the next process begins the run again", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const stop = new AbortController();
  openClaw.outcome = { status: "ok" };
  vi.spyOn(openClaw.api.runtime.subagent, "getSessionMessages").mockImplementation(async () => {
    stop.abort();
    throw INACTIVE;
  });
  const { status } = await opened.host.agents.run(runRequest({ signal: stop.signal }));
  expect(status).toBe("error");
});
