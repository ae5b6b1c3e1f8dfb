/** What happens to the conversation of a persistent run that an earlier process has left. */
import { expect, it, vi } from "vitest";
import type { OpenClawAgents } from "../../../../src/hosts/openclaw/agents.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";
import { runRequest } from "./run-request.ts";

const patience = { timeout: 10_000, interval: 20 };
const persistent = { sessionKey: "agent:main:hook:diary", sessionMode: "persistent" } as const;
const next = { ...persistent, runId: "run_2_0-a1" };

it("does not end a lost run a second time once a run of this process has continued its session", async () => {
  const openClaw = await withLostRun();
  const second = await OpenGateway.start({ openClaw });
  const session = openClaw.runs[0]?.sessionKey;
  expect(openClaw.deleted).toEqual([session]);

  const agents = second.host.agents as OpenClawAgents;
  await agents.run(runRequest(next));
  expect(openClaw.runs[1]?.sessionKey).toBe(session);
  await agents.endLostRuns();
  expect(openClaw.deleted).toEqual([session]);
  await second.gateway.stop();

  await using _third = await OpenGateway.start({ openClaw });
  expect(openClaw.deleted).toEqual([session]);
});

it("counts a lost run that the host did not end as ended once a run has continued its session", async () => {
  const openClaw = await withLostRun();
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(new Error("not now"));
  const second = await OpenGateway.start({ openClaw });
  // Its start and its first sweep have tried.
  const failed = (): readonly string[] => openClaw.log.filter((line) => line.includes("could not be removed"));
  await vi.waitFor(() => expect(failed()).toHaveLength(2), patience);
  const agents = second.host.agents as OpenClawAgents;
  await agents.run(runRequest(next));
  ends.mockRestore();
  await agents.endLostRuns();
  await agents.removeOldSessions();
  await second.gateway.stop();
  await using _third = await OpenGateway.start({ openClaw });
  expect(openClaw.deleted).toEqual([]);
});

it("does not end a lost run later whose session a run has continued while the host refused to end it", async () => {
  const openClaw = await withLostRun();
  await using second = await OpenGateway.start({ openClaw });
  openClaw.deleted.length = 0;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(new Error("not now"));
  const agents = second.host.agents as OpenClawAgents;
  const ending = agents.endLostRuns();
  await agents.run(runRequest(next));
  await ending;
  ends.mockRestore();
  await agents.removeOldSessions();
  expect(openClaw.deleted).toEqual([]);
});

it("ends a lost run a second time when the host has refused the run that was to continue its session", async () => {
  const openClaw = await withLostRun();
  await using second = await OpenGateway.start({ openClaw });
  const session = openClaw.runs[0]?.sessionKey;
  openClaw.refusals = [new Error("gateway is draining")];
  const agents = second.host.agents as OpenClawAgents;
  await expect(agents.run(runRequest(next))).rejects.toMatchObject({ retryable: true });
  await agents.endLostRuns();
  expect(openClaw.deleted).toEqual([session, session]);
});

it("stops asking the host to end a lost run once a run has begun in its session", async () => {
  const openClaw = await withLostRun();
  await using second = await OpenGateway.start({ openClaw });
  openClaw.deleted.length = 0;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValueOnce(new Error("not now"));
  const agents = second.host.agents as OpenClawAgents;
  const ending = agents.endLostRuns();
  await vi.waitFor(() => expect(ends).toHaveBeenCalledTimes(1), patience);
  const stop = new AbortController();
  openClaw.outcome = undefined;
  const run = agents.run(runRequest({ ...next, signal: stop.signal }));
  await ending;
  expect(openClaw.deleted).toEqual([]);
  stop.abort();
  await run;
});

it("begins a run only when the session is removed in which a lost run was", async () => {
  const openClaw = await withLostRun();
  await using second = await OpenGateway.start({ openClaw });
  const { subagent } = openClaw.api.runtime;
  const order: string[] = [];
  const removed = Promise.withResolvers<void>();
  vi.spyOn(subagent, "deleteSession").mockImplementation(async () => {
    await removed.promise;
    order.push("removed");
  });
  vi.spyOn(subagent, "run").mockImplementation(async ({ idempotencyKey }) => {
    order.push("begun");
    return { runId: idempotencyKey };
  });
  const agents = second.host.agents as OpenClawAgents;
  const ending = agents.endLostRuns();
  const stopped = new AbortController();
  const given = agents.run(runRequest({ ...next, runId: "run_3_0-a1", signal: stopped.signal }));
  const run = agents.run(runRequest(next));
  // A person may cancel one that waits for it.
  stopped.abort();
  expect((await given).status).toBe("aborted");
  setTimeout(() => removed.resolve(), 100);
  await Promise.all([ending, run]);
  expect(order).toEqual(["removed", "begun"]);
});

it("keeps the conversation that a run has continued after one that the host did not end", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const done = openClaw.outcome;
  openClaw.outcome = undefined;
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockRejectedValue(new Error("not now"));
  const agents = opened.host.agents as OpenClawAgents;
  await agents.run(runRequest({ ...persistent, timeoutMs: 50 }));
  ends.mockRestore();
  openClaw.outcome = done;
  await agents.run(runRequest(next));
  await agents.removeOldSessions();
  expect(openClaw.deleted).toEqual([]);
});

/** A host after the crash of a gateway with a persistent run in progress; later runs end at once. */
async function withLostRun(): Promise<FakeOpenClaw> {
  const openClaw = new FakeOpenClaw();
  const done = openClaw.outcome;
  openClaw.outcome = undefined;
  const first = await OpenGateway.start({ openClaw });
  const ending = new AbortController();
  const lost = first.host.agents.run(runRequest({ ...persistent, signal: ending.signal }));
  await vi.waitFor(() => expect(openClaw.runs).toHaveLength(1), patience);
  await first.gateway.stop();
  // Its end can be stored no more.
  ending.abort();
  await lost;
  openClaw.deleted.length = 0;
  openClaw.outcome = done;
  return openClaw;
}
