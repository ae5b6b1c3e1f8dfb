import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { HostError } from "../../../../src/core/host.ts";
import type { AgentRunResult } from "../../../../src/core/host.ts";
import { agentSpec } from "../dispatch-bench.ts";
import { RunnerBench } from "../runner-bench.ts";

const gone = new HostError("chat not found", { retryable: false });
const OVERLOADED: AgentRunResult = { status: "error", reply: "", error: "the model is overloaded", retryable: true };
const fallback = { channel: "mail", to: "desk" };

describe("notices of what a person has to see to", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
  });
  afterEach(() => bench.reset());
  afterAll(() => bench.close());

  /** What the agent answers to everything. */
  function answers(result: AgentRunResult): void {
    bench.host.onRun = async () => result;
  }

  /** Channels that refuse what they are sent, by name. */
  function refuse(errors: Record<string, HostError | undefined>): void {
    bench.host.onSend = async ({ channel }) => {
      if (errors[channel]) throw errors[channel];
    };
  }

  describe("of runs that fail", () => {
    it("one is given for an outage, however many runs fail and across restarts", async () => {
      answers({ status: "error", reply: "", error: "no credit" });
      await bench.run();
      await bench.run();
      await bench.restart();
      await bench.run();
      expect(bench.notices).toEqual([
        "Runs of the agent main fail (error). They are kept: reveille deliveries list --state failed",
      ]);
      expect(bench.details).toEqual(["no credit"]);
      expect(await bench.store.outages()).toEqual(["runs:main:"]);
      answers({ status: "ok", reply: "Paid." });
      await bench.run();
      expect(await bench.store.outages()).toEqual([]);
    });

    it("trouble that may pass is the agent's, whatever asked for it, and ends with its next success", async () => {
      bench.retry = { ...bench.retry, runs: { ...bench.retry.runs, attempts: 1 } };
      answers({ status: "error", reply: "", error: "overloaded", retryable: true });
      await bench.run();
      expect(await bench.store.outages()).toEqual(["runs:main"]);
      answers({ status: "ok", reply: "Back." });
      await bench.run();
      expect(await bench.store.outages()).toEqual([]);
    });

    it("name the first mapping of trouble of the agent, which others have as well, and give the error apart from their own words", async () => {
      bench.mappingId = "ci";
      answers(OVERLOADED);
      await bench.run();
      bench.mappingId = "mail";
      await bench.run();
      expect(bench.notices).toEqual([
        "Runs of the agent main fail (error after 3 attempts); the first came from the mapping ci. They are kept: reveille deliveries list --state failed",
      ]);
      expect(bench.details).toEqual(["the model is overloaded"]);
    });

    it("name the mapping for an error that the same run would meet again", async () => {
      bench.mappingId = "ci";
      answers({ status: "error", reply: "", error: "no such model" });
      await bench.run();
      expect(bench.notices).toEqual([
        "Runs of the agent main for the mapping ci fail (error). They are kept: reveille deliveries list --state failed",
      ]);
    });

    it("are followed by one that they succeed again", async () => {
      answers(OVERLOADED);
      for (const mapping of ["ci", "mail", "ci"]) {
        bench.mappingId = mapping;
        await bench.run();
      }
      answers({ status: "ok", reply: "Back." });
      await bench.run();
      await bench.run();
      expect(bench.notices.slice(1)).toEqual([
        "Runs of the agent main succeed again. Meanwhile: 3 failures, from the mapping ci, the mapping mail.",
      ]);
      expect(bench.details).toEqual(["the model is overloaded", undefined]);
    });

    it("the outage of one agent is not that of another", async () => {
      answers({ status: "error", reply: "", error: "no credit" });
      await bench.run();
      await bench.run({ agentId: "ops" });
      expect(bench.notices).toHaveLength(2);
    });
  });

  describe("of channels that fail", () => {
    it("one is given for an outage, and none more until the channel has worked", async () => {
      refuse({ console: gone });
      await bench.run();
      await bench.run();
      await bench.restart();
      await bench.run();
      expect(bench.notices).toEqual([
        "Replies cannot be delivered on the channel console. They are kept: reveille deliveries list --state failed",
      ]);
      expect(bench.details).toEqual(["chat not found"]);
      refuse({});
      await bench.run();
      expect(bench.notices.slice(1)).toEqual([
        "Replies are delivered on the channel console again. Meanwhile: at least 1 failure, from a direct call.",
      ]);
      refuse({ console: gone });
      await bench.run();
      expect(bench.notices).toHaveLength(3);
    });

    it("one is given also when the fallback took the reply", async () => {
      refuse({ console: gone });
      await bench.run({ fallback });
      await bench.run({ fallback });
      expect(bench.notices).toHaveLength(1);
      expect(await bench.store.outages()).toEqual(["channel:console"]);
    });
  });

  describe("of messages that have nowhere to go", () => {
    const nobody = { unresolved: "The gateway has no channel." };
    const kept = "They are kept: reveille deliveries list --state failed";

    it("one is given for the runs of a mapping that fail so, and none more until one of them was sent", async () => {
      bench.mappingId = "ci";
      await bench.run({ mode: "deliver", delivery: nobody });
      await bench.run({ mode: "deliver", delivery: nobody });
      await bench.restart();
      await bench.run({ mode: "deliver", delivery: nobody });
      expect(bench.notices).toEqual([
        `Messages of the mapping ci cannot be delivered. The gateway has no channel. ${kept}`,
      ]);
      expect(bench.details).toEqual([undefined]);
      expect(await bench.store.outages()).toEqual(["target:ci"]);
      bench.mappingId = "other";
      await bench.run({ mode: "deliver", delivery: nobody });
      expect(bench.notices).toHaveLength(2);
      bench.mappingId = "ci";
      await bench.run();
      expect(await bench.store.outages()).toEqual(["target:other"]);
    });

    it("one is given when no target was asked for", async () => {
      await bench.run({ mode: "deliver", delivery: undefined });
      expect(bench.notices).toEqual([`Messages cannot be delivered. No target was asked for. ${kept}`]);
      expect(await bench.store.outages()).toEqual(["target:agent"]);
    });

    it("one is sent when the fallback is needed and has no target, besides that of the channel", async () => {
      refuse({ console: gone });
      await bench.run({ fallback: { unresolved: "There is no recipient." } });
      expect(bench.notices).toEqual([
        `Replies cannot be delivered on the channel console. ${kept}`,
        `Messages cannot be delivered. The fallback: There is no recipient. ${kept}`,
      ]);
    });

    it("one covers both when no target was found anywhere, and the fallback's next success ends it", async () => {
      await bench.run({ mode: "deliver", delivery: nobody, fallback: { unresolved: "There is no recipient." } });
      expect(bench.notices).toEqual([
        `Messages cannot be delivered. The gateway has no channel. The fallback: There is no recipient. ${kept}`,
      ]);
      await bench.run({ mode: "deliver", delivery: nobody, fallback });
      expect(await bench.store.outages()).toEqual([]);
    });

    it("none is sent for a run that is done: its reply is kept and needs no one", async () => {
      await bench.run({ delivery: nobody });
      await bench.run({ delivery: nobody, fallback: { unresolved: "There is no recipient." } });
      expect(bench.settled.map(({ state }) => state)).toEqual(["done", "done"]);
      expect(bench.notices).toEqual([]);
    });

    it("one is given also by the process that settles what an earlier one could not deliver", async () => {
      const runId = await bench.accept(agentSpec({ mode: "deliver", delivery: nobody }));
      await bench.store.beginAttempt(runId, { number: 1, startedAt: 1 });
      await bench.store.endAttempt(runId, { endedAt: 2, status: "ok", error: null, reply: "Text." });
      await bench.store.recordStep(runId, "delivered", { outcome: "no-target" });
      await bench.restart();
      await bench.finish(runId);
      expect(bench.notices).toHaveLength(1);
    });
  });
});
