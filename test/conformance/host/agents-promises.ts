import { randomUUID } from "node:crypto";
import { expect, it, vi } from "vitest";
import type { AgentRunRequest, GatewayHost } from "../../../src/core/host.ts";
import type { SuiteContext } from "./describe-gateway-host.ts";
import { REPLY_PREFIX } from "./model-server.ts";

/** A gateway that somebody else wrote may take a while, above all with its first turn. */
const patience = { timeout: 50_000, interval: 50 };

/** Agents and their isolated turns. */
export function testAgents(context: SuiteContext): void {
  const { shareProbe } = context;

  function request(host: GatewayHost, given: Partial<AgentRunRequest> = {}): AgentRunRequest {
    const { id } = host.agents.resolve(undefined);
    return {
      runId: randomUUID(),
      agentId: id,
      sessionKey: `agent:${id}:hook:test`,
      prompt: "Say something.",
      trust: "untrusted",
      timeoutMs: patience.timeout,
      signal: new AbortController().signal,
      ...given,
    };
  }

  it("lists agents of which one is the default, and resolves unknown and absent ids to it", async () => {
    const { host } = await shareProbe();
    const agents = host.agents.list();
    expect(agents.filter(({ isDefault }) => isDefault)).toHaveLength(1);
    const chosen = agents.find(({ isDefault }) => isDefault);
    expect(host.agents.resolve(undefined)).toEqual(chosen);
    expect(host.agents.resolve("nobody-has-this-id")).toEqual(chosen);
    for (const agent of agents) expect(host.agents.resolve(agent.id)).toEqual(agent);
  });

  it("enforces no list of models when none is configured", async () => {
    const { host } = await shareProbe();
    expect(host.agents.allowedModels(host.agents.resolve(undefined).id)).toBeUndefined();
  });

  it("runs one turn and resolves with the reply", async () => {
    const { host } = await shareProbe();
    const result = await host.agents.run(request(host, { prompt: "What is up?" }));
    expect(result.status).toBe("ok");
    expect(result.reply).toContain(REPLY_PREFIX);
    expect(result.reply).toContain("What is up?");
    expect(context.model.promptsWith("What is up?")).toHaveLength(1);
  });

  it("gives the agent its instructions beside the prompt", async () => {
    const { host } = await shareProbe();
    await host.agents.run(request(host, { prompt: "What broke?", instructions: "Name the culprit." }));
    const [seen = "", ...others] = context.model.conversations.filter((given) => given.includes("What broke?"));
    expect(others).toEqual([]);
    expect(seen.match(/Instructions of this gateway's owner:/g)).toHaveLength(1);
    expect(seen).toContain("Name the culprit.");
  });

  it("asks a model on its own for a form, where it can: without tools, the agent's words and what was said before", async () => {
    const { host } = await shareProbe();
    const { id } = host.agents.resolve(undefined);
    if (host.agents.extract === undefined) {
      expect(host.agents).not.toHaveProperty("extractionProblem");
      return;
    }
    expect(host.agents.extractionProblem?.({ agentId: id, model: undefined })).toBeUndefined();
    await host.agents.run(request(host, { prompt: "Said before the form." }));
    const result = await host.agents.extract({
      runId: randomUUID(),
      agentId: id,
      instructions: "Fill in the form.",
      prompt: "Of this text.",
      schema: { type: "object" },
      maxReplyChars: 1_000,
      timeoutMs: patience.timeout,
      signal: new AbortController().signal,
    });
    expect(result).toMatchObject({ status: "ok", reply: `${REPLY_PREFIX}Of this text.` });
    const given = context.model.conversations.filter((each) => each.includes("Of this text."));
    expect(given.map((each) => JSON.parse(each) as unknown)).toEqual([
      [
        { role: "system", content: "Fill in the form." },
        { role: "user", content: "Of this text." },
      ],
    ]);
  });

  it("gives each run a fresh transcript, also under the same session key", async () => {
    const { host } = await shareProbe();
    await host.agents.run(request(host, { prompt: "The first prompt." }));
    await host.agents.run(request(host, { prompt: "The second prompt." }));
    const seconds = context.model.promptsWith("The second prompt.");
    expect(seconds).toHaveLength(1);
    expect(seconds[0]).not.toContain("The first prompt.");
  });

  it("runs turns of different sessions at the same time", async () => {
    const { host } = await shareProbe();
    const waiting = new AbortController();
    const hanging = host.agents.run(request(host, { prompt: "[hang]", signal: waiting.signal }));
    const { id } = host.agents.resolve(undefined);
    const other = await host.agents.run(request(host, { sessionKey: `agent:${id}:hook:other` }));
    expect(other.status).toBe("ok");
    waiting.abort();
    expect((await hanging).status).toBe("aborted");
  });

  it("never runs the same id twice", async () => {
    const { host } = await shareProbe();
    const once = request(host, { prompt: "Say it once." });
    await host.agents.run(once);
    await expect(host.agents.run(once)).rejects.toMatchObject({ name: "HostError", retryable: false });
    expect(context.model.promptsWith("Say it once.")).toHaveLength(1);
  });

  it("resolves, and does not reject, when the run failed, and says why without a secret", async () => {
    const { host } = await shareProbe();
    const result = await host.agents.run(request(host, { prompt: "[fail]" }));
    expect(result).toMatchObject({ status: "error", reply: "" });
    expect(result.error).toBeTruthy();
  });

  it("says of a failure that may pass that the same run may succeed later, and of others that it will not", async () => {
    const { host } = await shareProbe();
    const busy = await host.agents.run(request(host, { prompt: "[busy]" }));
    expect(busy).toMatchObject({ status: "error", reply: "", retryable: true });
    const refused = await host.agents.run(request(host, { prompt: "[fail]" }));
    expect(refused.retryable ?? false).toBe(false);
  });

  it("counts the owner's turns, if it counts them, without the plugin's runs", async () => {
    const { host } = await shareProbe();
    const waiting = new AbortController();
    const prompt = "[hang] while turns are counted";
    const hanging = host.agents.run(request(host, { prompt, signal: waiting.signal }));
    await vi.waitFor(() => {
      expect(context.model.promptsWith(prompt)).toHaveLength(1);
    }, patience);
    expect(host.agents.ownerTurns?.() ?? 0).toBe(0);
    waiting.abort();
    await hanging;
  });

  it("aborts a run after its time", async () => {
    const { host } = await shareProbe();
    const result = await host.agents.run(request(host, { prompt: "[hang]", timeoutMs: 100 }));
    expect(result).toMatchObject({ status: "timeout", reply: "" });
  });

  it("aborts a run through its signal, and does not begin one whose signal has fired", async () => {
    const { host } = await shareProbe();
    const running = new AbortController();
    const prompt = "[hang] until the signal fires";
    const result = host.agents.run(request(host, { prompt, signal: running.signal }));
    await vi.waitFor(() => {
      expect(context.model.promptsWith(prompt)).toHaveLength(1);
    }, patience);
    running.abort();
    expect(await result).toMatchObject({ status: "aborted", reply: "" });
    const never = request(host, { prompt: "Never to be said.", signal: AbortSignal.abort() });
    expect((await host.agents.run(never)).status).toBe("aborted");
    expect(context.model.promptsWith(prompt)).toHaveLength(1);
    expect(context.model.promptsWith(never.prompt)).toEqual([]);
  });
}
