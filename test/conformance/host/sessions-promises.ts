import { expect, it, vi } from "vitest";
import type { SuiteContext } from "./describe-gateway-host.ts";

/** The first turn of a gateway may take a while. */
const patience = { timeout: 50_000, interval: 50 };

/** System events and heartbeats. */
export function testSessions(context: SuiteContext): void {
  const { startProbe } = context;

  it("names one main session for each agent", async () => {
    const { host } = await context.shareProbe();
    const { id } = host.agents.resolve(undefined);
    const key = host.sessions.mainSessionKey(id);
    expect(key).not.toBe("");
    expect(host.sessions.mainSessionKey(id)).toBe(key);
    expect(host.sessions.mainSessionKey(`${id}-other`)).not.toBe(key);
  });

  it("puts events before the session in the order of the calls", async () => {
    const { running, host } = await startProbe();
    const sessionKey = host.sessions.mainSessionKey(host.agents.resolve(undefined).id);
    const texts = Array.from({ length: 20 }, (_, at) => `event ${at}`);
    await Promise.all(
      texts.map((text) => host.sessions.enqueueSystemEvent({ sessionKey, text, idempotencyKey: text })),
    );
    expect(await running.pendingEvents(sessionKey)).toEqual(texts);
  });

  it("drops a second event with the same idempotency key, also after the first was consumed", async () => {
    const { running, host } = await startProbe();
    const agentId = host.agents.resolve(undefined).id;
    const sessionKey = host.sessions.mainSessionKey(agentId);
    const event = { sessionKey, text: "once [quiet]", idempotencyKey: "the same" };
    await Promise.all([host.sessions.enqueueSystemEvent(event), host.sessions.enqueueSystemEvent(event)]);
    expect(await running.pendingEvents(sessionKey)).toEqual(["once [quiet]"]);
    host.sessions.requestHeartbeat({ agentId, sessionKey, reason: "hook:wake" });
    await vi.waitFor(async () => {
      expect(await running.pendingEvents(sessionKey)).toEqual([]);
    }, patience);
    await host.sessions.enqueueSystemEvent(event);
    expect(await running.pendingEvents(sessionKey)).toEqual([]);
  });

  it("gives a session a turn soon after a request, in which the agent sees the events", async () => {
    const { running, host } = await startProbe();
    const agentId = host.agents.resolve(undefined).id;
    const sessionKey = host.sessions.mainSessionKey(agentId);
    await host.sessions.enqueueSystemEvent({ sessionKey, text: "the build broke [quiet]", idempotencyKey: "1" });
    host.sessions.requestHeartbeat({ agentId, sessionKey, reason: "hook:wake" });
    await vi.waitFor(async () => {
      // One more may come of what an earlier test had asked for.
      expect(await running.turns(sessionKey)).toBeGreaterThan(0);
      // A host counts a turn when it asks the model, whom the question may reach a moment later.
      expect(context.model.promptsWith("the build broke")).toHaveLength(1);
    }, patience);
  });

  it("makes one turn of requests that arrive together", async () => {
    const { running, host } = await startProbe();
    const agentId = host.agents.resolve(undefined).id;
    const sessionKey = host.sessions.mainSessionKey(agentId);
    for (let at = 0; at < 10; at++) {
      await host.sessions.enqueueSystemEvent({ sessionKey, text: `event ${at} [quiet]`, idempotencyKey: String(at) });
    }
    for (let at = 0; at < 10; at++) host.sessions.requestHeartbeat({ agentId, sessionKey, reason: `hook:${at}` });
    await vi.waitFor(async () => {
      expect(await running.pendingEvents(sessionKey)).toEqual([]);
    }, patience);
    expect(await running.turns(sessionKey)).toBe(1);
  });
}
