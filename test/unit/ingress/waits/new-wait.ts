import type { Wait } from "../../../../src/core/wait.ts";

export function newWait(changes: Partial<Wait> = {}): Wait {
  return {
    id: "wait_1",
    agentId: "main",
    sessionKey: "agent:main:hook:1",
    note: "",
    all: [],
    any: [],
    none: [],
    quietMs: 0,
    until: 1_000_000,
    minLevel: "unknown",
    instead: false,
    createdAt: 0,
    madeBy: null,
    times: 1,
    seen: [],
    quietSince: null,
    level: "owner",
    rights: {},
    ...changes,
  };
}
