import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TextRights } from "../../../../../src/core/agent-rights.ts";
import { AgentTurns } from "../../../../../src/hosts/embedded/agents/agent-turns.ts";
import { Approvals } from "../../../../../src/hosts/embedded/agents/approvals.ts";
import { DEFAULT_MODEL_TURN_LIMITS } from "../../../../../src/hosts/embedded/agents/model-turn.ts";
import { canConfine } from "../../../../../src/hosts/embedded/programs/probe.ts";
import { agentConfig, TemporaryGateway } from "../state/temporary-gateway.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "reveille-turns-")));
let gateway: TemporaryGateway;
let turns: AgentTurns;
beforeAll(async () => {
  gateway = await TemporaryGateway.open();
  const approvals = new Approvals({ ...gateway.parts, queue: () => Promise.resolve() });
  turns = new AgentTurns({
    ...gateway.parts,
    stateDir: join(folder, "state"),
    approvals,
    limits: DEFAULT_MODEL_TURN_LIMITS,
  });
});
afterAll(async () => {
  await turns.close();
  await gateway[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf((await canConfine()) !== undefined)("a command in a session that has read others' text", () => {
  const work = join(folder, "work");

  it.each<{ read: readonly TextRights[]; file: string; isWritten: boolean }>([
    { read: [], file: "all", isWritten: true },
    { read: [{ permissions: "reads" }], file: "reads", isWritten: false },
    { read: [{ permissions: "ask" }], file: "ask", isWritten: false },
    { read: [{ permissions: { allow: [{ kind: "edit" }] } }], file: "list", isWritten: false },
  ])("writes in its folder only where nothing was lowered: $file", async ({ read, file, isWritten }) => {
    const runtime = {
      type: "command" as const,
      command: ["sh", "-c", `touch ${file}; echo ran`],
      cwd: work,
      env: [],
      read: [],
      write: [],
      isConfined: true,
    };
    const outcome = await turns.run(agentConfig({ permissions: "all", allowUntrusted: true, runtime }), {
      messages: [{ role: "user", text: "go" }],
      override: {},
      idle: false,
      isProbe: false,
      trust: "untrusted",
      read,
      signal: new AbortController().signal,
      onHold: () => {},
      of: { sessionKey: "agent:main:main", runId: undefined },
    });
    expect(outcome).toMatchObject({ reply: expect.stringContaining("ran") as string });
    expect(existsSync(join(work, file))).toBe(isWritten);
  });
});
