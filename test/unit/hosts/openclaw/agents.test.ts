import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import type { OpenClawAgents } from "../../../../src/hosts/openclaw/agents.ts";
import { OPENCLAW_LIMITS } from "../../../../src/hosts/openclaw/sqlite-state-module.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";
import { runRequest } from "./run-request.ts";

/** A run begins with a commit on disk. */
const patience = { timeout: 10_000, interval: 20 };

it("runs each attempt in a session of its own, which the host does not take up by itself", async () => {
  await using opened = await OpenGateway.start();
  const { runs } = opened.openClaw;
  expect(await opened.host.agents.run(runRequest({ model: "p/m" }))).toEqual({ status: "ok", reply: "done" });
  await opened.host.agents.run(runRequest({ runId: "RUN/1.0-a2" }));
  expect(runs[0]).toMatchObject({ message: "Look.", deliver: false, lane: "subagent", model: "p/m" });
  expect(runs[0]?.sessionKey).toMatch(/^agent:main:subagent:run-1-0-a1-[0-9a-f]{12}$/);
  expect(runs[1]?.sessionKey).toMatch(/^agent:main:subagent:run-1-0-a2-[0-9a-f]{12}$/);
});

it("continues the host's session of its key when a run is persistent", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw, host } = opened;
  openClaw.outcome = { status: "ok" };
  openClaw.messages = [
    { role: "user", content: "Look." },
    { role: "assistant", content: "It was red." },
    { role: "user", content: "[Mon 09:00] Look again." },
  ];
  const persistent = { sessionKey: "agent:main:hook:Diary", sessionMode: "persistent" } as const;
  await host.agents.run(runRequest(persistent));
  const next = runRequest({ ...persistent, runId: "run_2_0-a1", prompt: "Look again." });
  expect(await host.agents.run(next)).toEqual({ status: "ok", reply: "" });
  await host.agents.run(runRequest({ ...persistent, runId: "run_3_0-a1", sessionKey: "agent:main:hook:other" }));
  const [first, second, other] = openClaw.runs.map(({ sessionKey }) => sessionKey);
  expect(first).toMatch(/^agent:main:subagent:kept-agent-main-hook-diary-[0-9a-f]{12}$/);
  expect(second).toBe(first);
  expect(other).not.toBe(first);
});

it("keeps the session of persistent runs when the host refuses one, and until the latest is old", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const agents = opened.host.agents as OpenClawAgents;
  const persistent = { sessionKey: "agent:main:hook:diary", sessionMode: "persistent" } as const;
  await agents.run(runRequest(persistent));
  openClaw.refusals = [new Error("gateway is draining")];
  await expect(agents.run(runRequest({ ...persistent, runId: "run_2_0-a1" }))).rejects.toMatchObject({
    retryable: true,
  });
  expect(openClaw.deleted).toEqual([]);

  const { sessionTtlMs } = OPENCLAW_LIMITS;
  const begun = Date.now();
  const now = vi.spyOn(Date, "now").mockReturnValue(begun + sessionTtlMs - 1_000);
  await agents.run(runRequest({ ...persistent, runId: "run_3_0-a1" }));
  now.mockReturnValue(begun + sessionTtlMs + 1_000);
  await agents.removeOldSessions();
  expect(openClaw.deleted).toEqual([]);
  now.mockReturnValue(begun + 2 * sessionTtlMs);
  openClaw.outcome = undefined;
  const ending = new AbortController();
  const latest = agents.run(runRequest({ ...persistent, runId: "run_4_0-a1", signal: ending.signal }));
  await vi.waitFor(() => expect(openClaw.runs).toHaveLength(3), patience);
  await agents.removeOldSessions();
  expect(openClaw.deleted).toEqual([]);
  ending.abort();
  expect(await latest).toMatchObject({ status: "aborted" });
  now.mockReturnValue(begun + 4 * sessionTtlMs);
  await agents.removeOldSessions();
  expect(new Set(openClaw.deleted)).toEqual(new Set([openClaw.runs[0]?.sessionKey]));
  now.mockRestore();
});

it("runs without any tool what is to have none", async () => {
  await using opened = await OpenGateway.start();
  await opened.host.agents.run(runRequest({ tools: "none" }));
  await opened.host.agents.run(runRequest({ runId: "run_2_0-a1" }));
  const [bare, equipped] = opened.openClaw.runs;
  expect(bare).toHaveProperty("disableTools", true);
  expect(equipped).not.toHaveProperty("disableTools");
});

it("never runs an id twice, also not in the next process", async () => {
  const openClaw = new FakeOpenClaw();
  const first = await OpenGateway.start({ openClaw });
  await first.host.agents.run(runRequest());
  await expect(first.host.agents.run(runRequest())).rejects.toMatchObject({ name: "HostError", retryable: false });
  await first.gateway.stop();
  await using second = await OpenGateway.start({ openClaw });
  await expect(second.host.agents.run(runRequest())).rejects.toMatchObject({ retryable: false });
});

it("gives the id free again when the host did not begin the run, and says whether that may pass", async () => {
  await using opened = await OpenGateway.start();
  opened.openClaw.refusals = [new Error("gateway is draining"), new Error("model override is not authorized")];
  await expect(opened.host.agents.run(runRequest())).rejects.toMatchObject({ retryable: true });
  await expect(opened.host.agents.run(runRequest())).rejects.toMatchObject({ retryable: false });
  expect(opened.openClaw.deleted).toHaveLength(2);
  expect((await opened.host.agents.run(runRequest())).status).toBe("ok");
});

it("reads the reply from the transcript of a host that does not return it", async () => {
  await using opened = await OpenGateway.start();
  opened.openClaw.outcome = { status: "ok" };
  opened.openClaw.messages = [
    { role: "user", content: "Look." },
    {
      role: "assistant",
      content: [
        { type: "text", text: "It is " },
        { type: "text", text: "red." },
      ],
    },
    { role: "tool", content: "x" },
  ];
  expect((await opened.host.agents.run(runRequest())).reply).toBe("It is red.");
  opened.openClaw.messages = [7, { role: "assistant", text: "plain" }];
  expect((await opened.host.agents.run(runRequest({ runId: "b" }))).reply).toBe("plain");
  opened.openClaw.messages = [];
  expect((await opened.host.agents.run(runRequest({ runId: "c" }))).reply).toBe("");
});

it("says of a failure that may pass that it does, unless the agent had answered or used a tool", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  openClaw.outcome = { status: "error", error: "The AI service is temporarily overloaded. Please try again." };
  openClaw.messages = [
    { role: "user", content: "Look." },
    { role: "assistant", content: [{ type: "text", text: "" }] },
  ];
  expect(await opened.host.agents.run(runRequest())).toMatchObject({ status: "error", reply: "", retryable: true });
  openClaw.messages = [{ role: "assistant", content: [{ type: "toolCall", name: "exec" }] }];
  expect((await opened.host.agents.run(runRequest({ runId: "b" }))).retryable).toBe(false);
  openClaw.messages = [{ role: "toolResult", content: "x" }];
  expect((await opened.host.agents.run(runRequest({ runId: "c" }))).retryable).toBe(false);
  openClaw.outcome = { status: "error", error: "provider rejected the request schema" };
  openClaw.messages = [];
  expect((await opened.host.agents.run(runRequest({ runId: "d" }))).retryable).toBe(false);
});

it("distinguishes a run that a person ended in the host from one that failed", async () => {
  await using opened = await OpenGateway.start();
  opened.openClaw.outcome = { status: "error", error: "aborted", stopReason: "rpc" };
  expect((await opened.host.agents.run(runRequest())).status).toBe("aborted");
});

it("ends a run in the host after its time and at its caller's word", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  openClaw.outcome = undefined;
  expect((await opened.host.agents.run(runRequest({ timeoutMs: 50 }))).status).toBe("timeout");
  const ending = new AbortController();
  const running = opened.host.agents.run(runRequest({ runId: "b", signal: ending.signal }));
  await vi.waitFor(() => expect(openClaw.runs).toHaveLength(2), patience);
  ending.abort();
  expect((await running).status).toBe("aborted");
  expect(openClaw.deleted).toEqual(openClaw.runs.map(({ sessionKey }) => sessionKey));
  expect((await opened.host.agents.run(runRequest({ runId: "c", signal: AbortSignal.abort() }))).status).toBe(
    "aborted",
  );
  expect(openClaw.runs).toHaveLength(2);
});

it("keeps waiting when the host cannot be asked or does not know yet", async () => {
  await using opened = await OpenGateway.start();
  const { subagent } = opened.openClaw.api.runtime;
  const answers = [new Error("not now"), { status: "pending" as const }, { status: "ok" as const, terminalReply: {} }];
  vi.spyOn(subagent, "waitForRun").mockImplementation(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? { status: "timeout" };
  });
  expect(await opened.host.agents.run(runRequest())).toEqual({ status: "ok", reply: "" });
  expect(answers).toEqual([]);
});

it("ends at its start what an earlier process has left running", async () => {
  const openClaw = new FakeOpenClaw();
  openClaw.outcome = undefined;
  const first = await OpenGateway.start({ openClaw });
  const ending = new AbortController();
  const lost = first.host.agents.run(runRequest({ signal: ending.signal }));
  await vi.waitFor(() => expect(openClaw.runs).toHaveLength(1), patience);
  await first.gateway.stop();
  await using _second = await OpenGateway.start({ openClaw });
  await vi.waitFor(() => expect(openClaw.deleted).toEqual([openClaw.runs[0]?.sessionKey]), patience);
  ending.abort();
  await lost;
});

it("says once that the host takes no thinking level", async () => {
  await using opened = await OpenGateway.start();
  await opened.host.agents.run(runRequest({ thinking: "high" }));
  await opened.host.agents.run(runRequest({ runId: "b", thinking: "high" }));
  expect(opened.openClaw.log.filter((line) => line.includes("thinking level"))).toHaveLength(1);
});

it("knows the agents of the configuration of the moment", async () => {
  await using opened = await OpenGateway.start();
  const { agents } = opened.host;
  expect(agents.list()).toEqual([{ id: "main", isDefault: true }]);
  opened.openClaw.config = { agents: { entries: { ops: {} } } };
  await nextTurn();
  expect(agents.resolve("ops")).toEqual({ id: "ops", isDefault: true });
  expect(agents.allowedModels("ops")).toEqual([]);
});

it("does not take a run for one without a reply when the host does not show it", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  openClaw.outcome = { status: "ok" };
  vi.spyOn(openClaw.api.runtime.subagent, "getSessionMessages").mockRejectedValue(new Error("gone"));
  const { status, error, retryable } = await opened.host.agents.run(runRequest());
  expect({ status, error, retryable }).toEqual({
    status: "error",
    error: "The run has ended, and OpenClaw does not show its reply.",
    retryable: undefined,
  });
});

it("gives the result also when the host's reason or the end of the run could not be had", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  openClaw.outcome = { status: "error" };
  expect((await opened.host.agents.run(runRequest({ runId: "b" }))).error).toBe("The host gave no reason.");
  openClaw.outcome = undefined;
  const ending = new AbortController();
  const running = opened.host.agents.run(runRequest({ runId: "c", signal: ending.signal }));
  await vi.waitFor(() => expect(openClaw.runs).toHaveLength(2), patience);
  await opened.gateway.stop();
  ending.abort();
  expect((await running).status).toBe("aborted");
  expect(openClaw.log.join("\n")).toContain("the end of a run could not be stored");
});

it("reads transcripts of strange shapes", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  openClaw.outcome = { status: "ok" };
  openClaw.messages = [{ role: "assistant", content: 7 }];
  expect((await opened.host.agents.run(runRequest())).reply).toBe("");
  openClaw.outcome = { status: "error", error: "429 too many requests" };
  openClaw.messages = [
    { role: "assistant", content: "" },
    { role: "system", content: "x" },
  ];
  expect((await opened.host.agents.run(runRequest({ runId: "b" }))).retryable).toBe(true);
  openClaw.messages = [{ role: "assistant", content: "said" }];
  expect((await opened.host.agents.run(runRequest({ runId: "c" }))).retryable).toBe(false);
});

it("removes the host's session of a run once it is old, and the others not", async () => {
  const openClaw = new FakeOpenClaw();
  const first = await OpenGateway.start({ openClaw });
  await first.host.agents.run(runRequest({ runId: "newer" }));
  const now = vi.spyOn(Date, "now").mockReturnValue(Date.now() - OPENCLAW_LIMITS.sessionTtlMs - 1_000);
  await first.host.agents.run(runRequest({ runId: "old" }));
  now.mockRestore();
  await first.host.agents.run(runRequest({ runId: "new" }));
  await first.gateway.stop();
  await using _second = await OpenGateway.start({ openClaw });
  await vi.waitFor(() => expect(openClaw.deleted).toEqual([openClaw.runs[1]?.sessionKey]), patience);
});
