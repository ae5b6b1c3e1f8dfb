import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runTurn } from "../../../../src/dispatch/run/agent-turn.ts";
import { HostError } from "../../../../src/core/host.ts";
import type { AgentRunRequest, AgentRunResult } from "../../../../src/core/host.ts";

const REQUEST = {
  runId: "r-a1",
  agentId: "main",
  sessionKey: "agent:main:hook:a",
  prompt: "Look.",
  trust: "untrusted" as const,
  model: undefined,
  thinking: undefined,
  timeoutMs: 1_000,
};
const begin = { tries: 3, firstDelayMs: 1, maxDelayMs: 1 };

describe("a turn of an agent", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const turn = (run: (request: AgentRunRequest) => Promise<AgentRunResult>, ending = new AbortController().signal) =>
    runTurn({ timeoutMs: REQUEST.timeoutMs, run: (control) => run({ ...REQUEST, ...control }) }, { ending, begin });

  it("leaves no timer and no listener behind", async () => {
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    expect(await turn(async () => ({ status: "ok", reply: "x" }), signal)).toEqual({ status: "ok", reply: "x" });
    expect(vi.getTimerCount()).toBe(0);
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(add.mock.calls.map(([, listener]) => listener));
  });

  it("is given up when its host does not return within ten seconds after the stop", async () => {
    const outcome = turn(() => new Promise<never>(() => {}));
    const given = vi.fn<() => void>();
    void outcome.then(given);
    await vi.advanceTimersByTimeAsync(REQUEST.timeoutMs + 9_999);
    expect(given).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toEqual({ status: "timeout", reply: "", error: "The run took longer than 1 s." });
  });

  it("that was answered in spite of being late is taken", async () => {
    const outcome = turn(({ signal }) => {
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ status: "ok", reply: "Just so." }));
      });
    });
    await vi.advanceTimersByTimeAsync(REQUEST.timeoutMs);
    expect(await outcome).toEqual({ status: "ok", reply: "Just so." });
  });

  it("is aborted from the start when the run has ended before", async () => {
    const seen: boolean[] = [];
    const outcome = turn(async ({ signal }) => {
      seen.push(signal.aborted);
      return { status: "aborted", reply: "" };
    }, AbortSignal.abort());
    expect(await outcome).toEqual({ status: "aborted", reply: "" });
    expect(seen).toEqual([true]);
  });

  it("that the host cannot begin is asked for a few times, each with its whole timeout", async () => {
    vi.useRealTimers();
    const seen: number[] = [];
    const outcome = turn(async ({ timeoutMs }) => {
      seen.push(timeoutMs);
      throw new HostError("starting", { retryable: true });
    });
    expect(await outcome).toEqual({ notBegun: "starting" });
    expect(seen).toEqual([1_000, 1_000, 1_000]);
  });

  it.each<[string, unknown, string]>([
    ["refuses it for good", new HostError("no such agent", { retryable: false }), "no such agent"],
    ["has a defect", new TypeError("undefined is not a function"), "undefined is not a function"],
    ["throws what is no error", "words", "words"],
  ])("ends in an error when the host %s", async (_case, thrown, error) => {
    const reject: (reason: unknown) => Promise<never> = Promise.reject.bind(Promise);
    expect(await turn(() => reject(thrown))).toEqual({ status: "error", reply: "", error });
  });
});
