import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HostError } from "../../../src/core/host.ts";
import { agentSpec, DispatchBench, wakeSpec, PATIENT } from "./dispatch-bench.ts";

describe("the dispatcher", () => {
  let bench: DispatchBench;

  beforeEach(async () => {
    bench = await DispatchBench.open();
  });
  afterEach(() => bench.close());

  it("carries out the runs of one session key one after the other, in order of acceptance", async () => {
    const order: string[] = [];
    let underWay = 0;
    let most = 0;
    bench.host.onRun = async ({ prompt }) => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      order.push(/number (\d+)/.exec(prompt)![1]!);
      underWay--;
      return { status: "ok", reply: "ok" };
    };
    bench.dispatcher.start();
    for (let at = 0; at < 12; at++) await bench.acceptAndEnqueue(agentSpec({ message: `number ${at}` }));
    await bench.settledRuns(12);
    expect(order).toEqual(Array.from({ length: 12 }, (_, at) => String(at)));
    expect(most).toBe(1);
  });

  it("carries out different session keys side by side, at most hooks.concurrency at once", async () => {
    let underWay = 0;
    let most = 0;
    bench.concurrency = 3;
    bench.host.onRun = async () => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 20));
      underWay--;
      return { status: "ok", reply: "ok" };
    };
    bench.dispatcher.start();
    const specs = Array.from({ length: 9 }, (_, at) => agentSpec({ sessionKey: `agent:main:hook:${at}` }));
    await bench.acceptAndEnqueue(...specs);
    await bench.settledRuns(9);
    expect(most).toBe(3);
  });

  it("a run that fails does not hold up its lane", async () => {
    bench.host.onRun = async ({ prompt }) => {
      // No word that the id of a boundary could have in it.
      if (prompt.includes("wrong")) throw new HostError("no", { retryable: false });
      return { status: "ok", reply: "ok" };
    };
    bench.dispatcher.start();
    const [wrong, good] = await bench.acceptAndEnqueue(agentSpec({ message: "wrong" }), agentSpec());
    await bench.settledRuns(2);
    expect((await bench.detail(wrong!)).state).toBe("failed");
    expect((await bench.detail(good!)).state).toBe("done");
  });

  it("tries a run again that may succeed later, and the next of its lane waits for it", async () => {
    bench.host.onRun = async ({ prompt }) =>
      prompt.includes("first") && bench.host.runs.length === 1
        ? { status: "error", reply: "", error: "overloaded", retryable: true }
        : { status: "ok", reply: "ok" };
    bench.dispatcher.start();
    const [first, second] = await bench.acceptAndEnqueue(
      agentSpec({ message: "first" }),
      agentSpec({ message: "second" }),
    );
    await bench.settledRuns(2);
    expect(bench.host.runs.map(({ runId }) => runId)).toEqual([`${first}-a1`, `${first}-a2`, `${second}-a1`]);
    expect((await bench.detail(first!)).state).toBe("done");
  });

  it("stops a run that is canceled while the agent is at it, and the next of its lane begins", async () => {
    bench.host.onRun = async ({ prompt, signal }) => {
      if (!prompt.includes("first")) return { status: "ok", reply: "ok" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { status: "aborted", reply: "" };
    };
    bench.dispatcher.start();
    const runIds = await bench.acceptAndEnqueue(agentSpec({ message: "first" }), agentSpec({ message: "second" }));
    await expect.poll(() => bench.host.runs.length, PATIENT).toBe(1);
    const canceled = { state: "canceled", reason: "canceled by the operator" } as const;
    await bench.store.settle(runIds[0]!, canceled);
    bench.dispatcher.withdraw({ runIds: [runIds[0]!], ...canceled });
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect((await bench.detail(runIds[0]!)).state).toBe("canceled");
    expect(bench.settled.map(({ runId, state }) => `${runId} ${state}`)).toEqual([
      `${runIds[0]} canceled`,
      `${runIds[1]} done`,
    ]);
    expect(bench.host.sent).toHaveLength(1);
  });

  it("spec 4.1: a wake enqueues a system event for the main session and triggers a heartbeat when the mode is now", async () => {
    bench.dispatcher.start();
    const [runId] = await bench.acceptAndEnqueue(wakeSpec({ text: "Build 12 is red" }));
    await bench.settledRuns(1);
    expect(bench.host.events).toHaveLength(1);
    expect(bench.host.events[0]).toMatchObject({ sessionKey: "agent:main:main", idempotencyKey: runId });
    expect(bench.host.events[0]!.text).toContain("Build 12 is red");
    expect(bench.host.events[0]!.text).toContain("EXTERNAL_UNTRUSTED_CONTENT");
    expect(bench.host.heartbeats).toEqual(["agent:main:main hook:wake"]);
    expect((await bench.detail(runId!)).state).toBe("done");
  });

  it("a heartbeat is asked for before a wake is settled, so that a store that fails in between costs none", async () => {
    const settleAll = vi.spyOn(bench.store, "settleAll").mockReturnValue(new Promise(() => {}));
    bench.dispatcher.start();
    await bench.acceptAndEnqueue(wakeSpec());
    await vi.waitFor(() => expect(settleAll).toHaveBeenCalled(), 15_000);
    expect(bench.host.heartbeats).toEqual(["agent:main:main hook:wake"]);
  });

  it("spec 6: with next-heartbeat the event waits for the next periodic check", async () => {
    bench.dispatcher.start();
    await bench.acceptAndEnqueue(wakeSpec({ mode: "next-heartbeat" }));
    await bench.settledRuns(1);
    expect(bench.host.events).toHaveLength(1);
    expect(bench.host.heartbeats).toEqual([]);
  });

  it("keeps a burst of wakes in order and asks for one heartbeat a batch", async () => {
    bench.dispatcher.start();
    const specs = Array.from({ length: 300 }, (_, at) => wakeSpec({ text: `event number ${at}.` }));
    const accepted = specs.map((spec) => bench.acceptAndEnqueue(spec));
    await Promise.all(accepted);
    await bench.settledRuns(300);
    const numbers = bench.host.events.map(({ text }) => Number(/event number (\d+)\./.exec(text)![1]));
    expect(numbers).toEqual(Array.from({ length: 300 }, (_, at) => at));
    expect(bench.host.heartbeats.length).toBeLessThan(150);
  });

  it("continues with wakes at a measured pace while calls are coming in", async () => {
    bench.busy = true;
    bench.dispatcher.start();
    await bench.acceptAndEnqueue(...Array.from({ length: 130 }, () => wakeSpec()));
    await bench.acceptAndEnqueue(
      ...Array.from({ length: 3 }, (_, at) => agentSpec({ sessionKey: `agent:main:hook:${at}` })),
    );
    await bench.settledRuns(133);
    expect(bench.host.events).toHaveLength(133);
  });

  it("ends a wake as failed when the main session refuses it permanently", async () => {
    bench.host.onEvent = async () => {
      throw new HostError("the text is too long", { retryable: false });
    };
    bench.dispatcher.start();
    const [runId] = await bench.acceptAndEnqueue(wakeSpec());
    await bench.settledRuns(1);
    expect(await bench.detail(runId!)).toMatchObject({ state: "failed", reason: "the text is too long" });
    expect(bench.host.heartbeats).toEqual([]);
    expect(bench.works).toEqual([]);
    await expect.poll(() => bench.outages, PATIENT).toEqual(["wakes:main"]);
  });

  it("reports that wakes of an agent fail in fixed words, with the error apart", async () => {
    const told: unknown[][] = [];
    bench.host.onEvent = async ({ text }) => {
      if (text.includes("too long")) throw new HostError("the text is too long", { retryable: false });
    };
    await bench.startWith({
      outages: {
        failed: async (...failure) => void told.push(failure),
        works: async (subject) => void told.push([subject]),
        written: async () => {},
      },
    });
    await bench.acceptAndEnqueue(wakeSpec({ text: "This is too long." }), wakeSpec({ agentId: "ops" }));
    await bench.settledRuns(2);
    await expect
      .poll(() => told, PATIENT)
      .toEqual([
        ["wakes:ops"],
        [
          "wakes:main",
          "Wakes of the agent main fail: its main session refuses them. They are kept: reveille deliveries list --state failed",
          { detail: "the text is too long" },
        ],
      ]);
  });

  it("lets no wake wait for a notice, and waits for it before it has stopped", async () => {
    const { promise: given, resolve: give } = Promise.withResolvers<void>();
    const order: string[] = [];
    bench.host.onEvent = async ({ text }) => {
      if (text.includes("too long")) throw new HostError("the text is too long", { retryable: false });
    };
    await bench.startWith({ outages: { failed: () => given, works: () => undefined, written: () => given } });
    await bench.acceptAndEnqueue(wakeSpec({ text: "This is too long." }));
    await bench.settledRuns(1);
    await bench.acceptAndEnqueue(wakeSpec());
    await bench.settledRuns(2);
    const stopped = bench.dispatcher.stop(bench.now() + 60_000).then(() => order.push("stopped"));
    setImmediate(() => {
      order.push("given");
      give();
    });
    await stopped;
    expect(order).toEqual(["given", "stopped"]);
  });

  it("lets no lane wait for a notice of an agent run, and waits for it before it has stopped", async () => {
    const { promise: given, resolve: give } = Promise.withResolvers<void>();
    const order: string[] = [];
    bench.host.onRun = async () => ({ status: "error", reply: "", error: "no credit" });
    await bench.startWith({ outages: { failed: () => given, works: () => undefined, written: () => given } });
    await bench.acceptAndEnqueue(agentSpec(), agentSpec());
    await bench.settledRuns(2);
    const stopped = bench.dispatcher.stop(bench.now() + 60_000).then(() => order.push("stopped"));
    setImmediate(() => {
      order.push("given");
      give();
    });
    await stopped;
    expect(order).toEqual(["given", "stopped"]);
  });

  it("asks again until the main session takes a wake", async () => {
    let refused = 1;
    bench.host.onEvent = async () => {
      if (refused-- > 0) throw new HostError("too many pending events", { retryable: true });
    };
    bench.dispatcher.start();
    const [runId] = await bench.acceptAndEnqueue(wakeSpec());
    await bench.settledRuns(1);
    expect((await bench.detail(runId!)).state).toBe("done");
  });

  it("takes up after a restart what was accepted and not carried out, in order", async () => {
    const first = await bench.accept(wakeSpec({ text: "one" }), agentSpec({ message: "two" }));
    const second = await bench.accept(agentSpec({ message: "three" }));
    await bench.restart();
    await bench.dispatcher.recover();
    expect(bench.dispatcher.open).toBe(3);
    expect(bench.host.runs).toEqual([]);
    bench.dispatcher.start();
    await bench.settledRuns(3);
    expect(bench.host.runs.map(({ runId }) => runId)).toEqual([`${first[1]}-a1`, `${second[0]}-a1`]);
    expect(bench.dispatcher.open).toBe(0);
  });

  it("leaves what was not begun on disk when it is stopped", async () => {
    bench.dispatcher.start();
    await bench.dispatcher.stop(Date.now());
    const [wake, agent] = await bench.acceptAndEnqueue(wakeSpec(), agentSpec());
    expect((await bench.detail(wake!)).state).toBe("queued");
    expect((await bench.detail(agent!)).state).toBe("queued");
    expect(bench.host.runs).toEqual([]);
  });

  it("does not wait for a host that never comes back longer than the deadline", async () => {
    bench.host.onRun = () => new Promise(() => {});
    bench.dispatcher.start();
    await bench.acceptAndEnqueue(agentSpec());
    await expect.poll(() => bench.host.runs.length, PATIENT).toBe(1);
    await bench.dispatcher.stop(Date.now());
    expect(bench.settled).toEqual([]);
  });

  it("gives what it abandons time to end, however late the deadline is noticed", async () => {
    let asked = 0;
    bench.host.onEvent = () => {
      asked++;
      return new Promise(() => {});
    };
    bench.dispatcher.start();
    await bench.acceptAndEnqueue(wakeSpec());
    await expect.poll(() => asked, PATIENT).toBe(1);
    const stopped = bench.dispatcher.stop(bench.now());
    // As a process that is given no time: every timer is due when it goes on.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    await stopped;
    expect(bench.dispatcher.open).toBe(0);
  });
});
