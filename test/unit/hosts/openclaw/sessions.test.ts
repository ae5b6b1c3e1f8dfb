import { expect, it, vi } from "vitest";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";

const MAIN = "agent:main:main";
const request = { agentId: "main", sessionKey: MAIN, reason: "hook:wake" };
const patience = { timeout: 10_000, interval: 20 };

function event(text: string, sessionKey = MAIN): { sessionKey: string; text: string; idempotencyKey: string } {
  return { sessionKey, text, idempotencyKey: text };
}

function queued(openClaw: FakeOpenClaw, session = MAIN): string[] {
  return (openClaw.queues.get(session) ?? []).flatMap(({ text }) => text.split("\n"));
}

it("hands an event to the host once, also when it is stored twice", async () => {
  await using opened = await OpenGateway.start();
  const { sessions } = opened.host;
  await Promise.all([sessions.enqueueSystemEvent(event("one")), sessions.enqueueSystemEvent(event("one"))]);
  expect(queued(opened.openClaw)).toEqual(["one"]);
});

it("does not look again for each of many events", async () => {
  using openClaw = new FakeOpenClaw();
  const peek = vi.spyOn(openClaw, "peek");
  await using opened = await OpenGateway.start({ openClaw });
  const { sessions } = opened.host;
  const texts = Array.from({ length: 150 }, (_, at) => `event ${at}`);
  const from = performance.now();
  for (const text of texts) await sessions.enqueueSystemEvent(event(text));
  // A few at first, then one every 50 ms.
  const looks = (performance.now() - from) / 50 + 5;
  expect(peek.mock.calls.length).toBeLessThan(looks);
  await vi.waitFor(() => expect(queued(openClaw)).toEqual(texts), patience);
});

it("takes a short session key for one of the default agent", async () => {
  await using opened = await OpenGateway.start();
  await opened.host.sessions.enqueueSystemEvent(event("short", "hook:x"));
  expect(queued(opened.openClaw, "agent:main:hook:x")).toEqual(["short"]);
});

it("hands over the events of several sessions where conversations of the host share one", async () => {
  const openClaw = new FakeOpenClaw();
  openClaw.config = { session: { scope: "global" } };
  await using opened = await OpenGateway.start({ openClaw });
  const { sessions } = opened.host;
  const taken: string[] = [];
  opened.host.sessions.onEventsTaken?.((keys) => void taken.push(...keys));
  const other = "agent:main:hook:x";
  await sessions.enqueueSystemEvent(event("of the main session"));
  await sessions.enqueueSystemEvent(event("of another", other));
  await sessions.enqueueSystemEvent(event("of the main session, too"));
  const texts = ["of another", "of the main session", "of the main session, too"];
  await vi.waitFor(() => expect(queued(openClaw, "global").toSorted()).toEqual(texts), patience);
  openClaw.turn("global");
  await vi.waitFor(() => expect(taken).toHaveLength(3), patience);
  expect(queued(openClaw, "global")).toEqual([]);
});

it("hands over the events of keys that are one session to the host, because it puts them in lower case", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw, host } = opened;
  const taken: string[] = [];
  host.sessions.onEventsTaken?.((keys) => void taken.push(...keys));
  await host.sessions.enqueueSystemEvent(event("of one", "agent:main:hook:Ticket-1"));
  await host.sessions.enqueueSystemEvent(event("of the other", "agent:main:hook:ticket-1"));
  const session = "agent:main:hook:ticket-1";
  await vi.waitFor(() => expect(queued(openClaw, session)).toEqual(["of one", "of the other"]), patience);
  openClaw.turn(session);
  await vi.waitFor(() => expect(taken.toSorted()).toEqual(["of one", "of the other"]), patience);
});

it("refuses a text that is too long permanently", async () => {
  await using opened = await OpenGateway.start();
  const long = event("x".repeat(1_048_577));
  await expect(opened.host.sessions.enqueueSystemEvent(long)).rejects.toMatchObject({ retryable: false });
});

it("asks for a turn, and for another one as long as events are left, so that more than twenty get through", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const texts = Array.from({ length: 250 }, (_, at) => `event ${at}`);
  await Promise.all(texts.map((text) => opened.host.sessions.enqueueSystemEvent(event(text))));
  opened.host.sessions.requestHeartbeat(request);
  const told: string[] = [];
  while (told.length < texts.length) {
    await vi.waitFor(() => expect(queued(openClaw)).not.toEqual([]), patience);
    const turns = openClaw.heartbeats.length;
    expect(openClaw.queues.get(MAIN)).toHaveLength(1);
    told.push(...openClaw.turn(MAIN).flatMap((text) => text.split("\n")));
    if (told.length < texts.length) {
      await vi.waitFor(() => expect(openClaw.heartbeats.length).toBeGreaterThan(turns), patience);
    }
  }
  expect(told).toEqual(texts);
});

it("hands over no more at once than a prompt can hold, but a long event as it is", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  for (const name of ["a", "b", "c"]) {
    await opened.host.sessions.enqueueSystemEvent(event(name.repeat(name === "c" ? 100_000 : 40_000)));
  }
  for (const name of ["a", "b", "c"]) {
    await vi.waitFor(() => expect(queued(openClaw)[0]?.[0]).toBe(name), patience);
    expect(queued(openClaw)).toHaveLength(1);
    openClaw.turn(MAIN);
  }
});

it("makes one request of several, and asks for no turn without events after that one", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  await opened.host.sessions.enqueueSystemEvent(event("one"));
  opened.host.sessions.requestHeartbeat(request);
  await vi.waitFor(() => expect(openClaw.heartbeats).toHaveLength(1), patience);
  openClaw.turn(MAIN);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(openClaw.heartbeats).toHaveLength(1);
});

it("asks for a turn when nothing waits, too", async () => {
  await using opened = await OpenGateway.start();
  opened.host.sessions.requestHeartbeat(request);
  const { heartbeats } = opened.openClaw;
  await vi.waitFor(() => expect(heartbeats).toEqual([{ sessionKey: MAIN, reason: "hook:wake" }]), patience);
});

it("hands over again what the host's full queue has dropped", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  await opened.host.sessions.enqueueSystemEvent(event("ours"));
  const notices = Array.from({ length: 20 }, (_, at) => ({ text: `notice ${at}`, contextKey: `host:${at}` }));
  openClaw.queues.set(MAIN, notices);
  await vi.waitFor(() => expect(queued(openClaw)).toContain("ours"), patience);
  expect(queued(openClaw)).toHaveLength(20);
});

it("keeps events across a restart, with the turn that was asked for", async () => {
  const openClaw = new FakeOpenClaw();
  const first = await OpenGateway.start({ openClaw });
  await first.host.sessions.enqueueSystemEvent(event("kept"));
  first.host.sessions.requestHeartbeat(request);
  await vi.waitFor(() => expect(openClaw.heartbeats).toHaveLength(1), patience);
  await first.gateway.stop();
  openClaw.queues.clear();
  openClaw.heartbeats.length = 0;
  await using second = await OpenGateway.start({ openClaw });
  await vi.waitFor(() => expect(queued(openClaw)).toEqual(["kept"]), patience);
  expect(openClaw.heartbeats).toEqual([{ sessionKey: MAIN, reason: "hook:wake" }]);
  openClaw.turn(MAIN);
  await new Promise((resolve) => setTimeout(resolve, 600));
  await second.gateway.stop();
  await using third = await OpenGateway.start({ openClaw });
  await third.host.sessions.enqueueSystemEvent(event("kept"));
  expect(queued(openClaw)).toEqual([]);
});

it("does not count events as consumed while the turn that took them continues", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  await opened.host.sessions.enqueueSystemEvent(event("taken"));
  openClaw.turn(MAIN, "running");
  await opened.host.sessions.enqueueSystemEvent(event("next"));
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(queued(openClaw)).toEqual([]);
  openClaw.turn(MAIN);
  await vi.waitFor(() => expect(queued(openClaw)).toEqual(["next"]), patience);
});

it("rests after a turn that failed, and keeps its events", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  await opened.host.sessions.enqueueSystemEvent(event("again"));
  openClaw.turn(MAIN, "failed");
  await vi.waitFor(() => expect(openClaw.log.join("\n")).toContain("handed over again"), patience);
  expect(queued(openClaw)).toEqual([]);
  await opened.gateway.stop();
  await using next = await OpenGateway.start({ openClaw });
  await vi.waitFor(() => expect(queued(next.openClaw)).toEqual(["again"]), patience);
});

it("refuses events retryably while a session holds too many, and once the gateway has stopped", async () => {
  const openClaw = new FakeOpenClaw();
  await using opened = await OpenGateway.start({ openClaw });
  const { sessions } = opened.host;
  const long = "x".repeat(1_048_576);
  const stored = Array.from({ length: 64 }, (_, at) =>
    sessions.enqueueSystemEvent({ ...event(long), idempotencyKey: `long ${at}` }),
  );
  await Promise.all(stored);
  await expect(sessions.enqueueSystemEvent(event("more"))).rejects.toMatchObject({
    name: "HostError",
    retryable: true,
  });
  await sessions.enqueueSystemEvent(event("elsewhere", "agent:main:other"));
  await opened.gateway.stop();
  await expect(sessions.enqueueSystemEvent(event("late"))).rejects.toMatchObject({ retryable: true });
  sessions.requestHeartbeat(request);
  await vi.waitFor(
    () => expect(openClaw.log.join("\n")).toContain("a heartbeat request could not be stored"),
    patience,
  );
  expect(openClaw.heartbeats).toEqual([]);
});

it("does not stop handing over when the host or the store fails once", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const { system } = openClaw.api.runtime;
  vi.spyOn(system, "enqueueSystemEvent").mockImplementationOnce(() => {
    throw new Error("the host is busy");
  });
  await opened.host.sessions.enqueueSystemEvent(event("first"));
  expect(openClaw.log.join("\n")).toContain("system events could not be handed over");
  await opened.host.sessions.enqueueSystemEvent(event("second"));
  expect(queued(openClaw)).toEqual(["first", "second"]);
});

it("takes a turn to have ended when the host does not report turns", async () => {
  const openClaw = new FakeOpenClaw();
  const { agent: _, ...runtime } = openClaw.api.runtime;
  Object.assign(openClaw.api, { runtime });
  await using opened = await OpenGateway.start({ openClaw });
  await opened.host.sessions.enqueueSystemEvent(event("one"));
  openClaw.queues.clear();
  await opened.host.sessions.enqueueSystemEvent(event("two"));
  await vi.waitFor(() => expect(queued(openClaw)).toEqual(["two"]), patience);
});

it("hands over again what the host did not take into its queue, and never counts that as consumed", async () => {
  const openClaw = new FakeOpenClaw();
  const first = await OpenGateway.start({ openClaw });
  const refused = vi.spyOn(openClaw.api.runtime.system, "enqueueSystemEvent").mockReturnValue(false);
  await first.host.sessions.enqueueSystemEvent(event("kept"));
  openClaw.turn(MAIN);
  await vi.waitFor(() => expect(refused.mock.calls.length).toBeGreaterThan(3), patience);
  await first.gateway.stop();
  refused.mockRestore();
  await using second = await OpenGateway.start({ openClaw });
  await vi.waitFor(() => expect(queued(second.openClaw)).toEqual(["kept"]), patience);
});

it("takes an event for handed over that the host says it has already", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw } = opened;
  const { system } = openClaw.api.runtime;
  const enqueue = system.enqueueSystemEvent.bind(system);
  const calls = vi.spyOn(system, "enqueueSystemEvent").mockImplementation((text, options) => {
    enqueue(text, options);
    return false;
  });
  await opened.host.sessions.enqueueSystemEvent(event("one"));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(calls).toHaveBeenCalledTimes(1);
});
