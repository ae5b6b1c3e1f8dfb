import type { AgentRunRequest } from "../../../../src/core/host.ts";

/** A run of the main agent, with what a test cares about. */
export function runRequest(given: Partial<AgentRunRequest> = {}): AgentRunRequest {
  return {
    runId: "run_1_0-a1",
    agentId: "main",
    sessionKey: "agent:main:hook:x",
    prompt: "Look.",
    trust: "untrusted",
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...given,
  };
}
