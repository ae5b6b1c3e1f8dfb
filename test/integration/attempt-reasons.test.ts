import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { HostError } from "../../src/core/host.ts";
import type { AgentRunResult, GatewayPlugin } from "../../src/core/host.ts";
import { StatesGateway } from "./states-gateway.ts";
import type * as Retrying from "../../src/dispatch/run/retry.ts";

vi.mock("../../src/dispatch/run/full-jitter.ts", () => import("./longest-delay.ts"));

// As it is, only that no one waits a quarter of a minute for a host that cannot begin.
vi.mock("../../src/dispatch/run/retry.ts", async (original) => ({
  ...(await original<typeof Retrying>()),
  BRIEF_RETRY: { tries: 2, firstDelayMs: 1, maxDelayMs: 1 },
}));

const ERROR = { status: "error", reply: "" } as const;

/** Stands before the gateway's agents, as a plugin that keeps them in a sandbox may. */
class Sandbox implements GatewayPlugin {
  /** The result of the next runs instead of a turn. */
  readonly instead: (AgentRunResult | HostError)[] = [];

  apply({ agents }: Parameters<GatewayPlugin["apply"]>[0]): void {
    const run = agents.run.bind(agents);
    agents.run = async (request) => {
      const result = this.instead.shift();
      if (result instanceof HostError) throw result;
      return result ?? run(request);
    };
  }
}

describe("each reason of an attempt can be produced and seen through the API", () => {
  const sandbox = new Sandbox();
  let states: StatesGateway;
  beforeAll(async () => {
    states = await StatesGateway.start({ plugins: [sandbox], hooks: { maxBodyBytes: "4mb" } });
  });
  afterEach(() => {
    states.reset();
    sandbox.instead.length = 0;
  });
  afterAll(() => states[Symbol.asyncDispose]());

  /** As many as a host is asked for one attempt. */
  const notBegun = () => [1, 2].map(() => new HostError("the sandbox is starting", { retryable: true }));

  describe("a host that cannot begin it", () => {
    it("leaves the run queued, and says so", async () => {
      sandbox.instead.push(...notBegun());
      const id = await states.sent("again");
      await vi.waitFor(async () => expect((await states.gateway.delivery(id)).reason).not.toBeNull(), SOON);
      expect(await states.onlyRun(id, "queued")).toMatchObject({
        reason: "the gateway could not begin it, it is tried again: the sandbox is starting",
        attempts: [{ number: 1, status: "aborted", error: "it could not begin: the sandbox is starting" }],
      });
      await states.canceled(id);
    });

    it("uses up no attempt, however often it cannot", async () => {
      sandbox.instead.push(...notBegun(), ...notBegun(), ...notBegun());
      expect(await states.onlyRun(await states.sent("twice"), "done")).toMatchObject({
        attempts: [{ number: 1, status: "ok", error: null }],
      });
    });

    it("a permanent refusal fails it", async () => {
      sandbox.instead.push(new HostError("there is no sandbox", { retryable: false }));
      const { reason, attempts } = await states.onlyRun(await states.sent("twice"), "failed");
      expect(reason).toBe("error: there is no sandbox");
      expect(attempts).toMatchObject([{ number: 1, status: "error", error: "there is no sandbox" }]);
    });
  });

  it("an agent that stops by itself fails it", async () => {
    sandbox.instead.push({ status: "aborted", reply: "", error: "the sandbox was closed" });
    const { reason, attempts } = await states.onlyRun(await states.sent("twice"), "failed");
    expect(reason).toBe("aborted: the sandbox was closed");
    expect(attempts).toMatchObject([{ status: "aborted", error: "the sandbox was closed" }]);
  });

  it("an agent that does not say why fails it all the same", async () => {
    sandbox.instead.push(ERROR);
    expect((await states.onlyRun(await states.sent("twice"), "failed")).reason).toBe("error: the run did not succeed");
  });

  it("an agent that does not say why is asked again", async () => {
    sandbox.instead.push({ ...ERROR, retryable: true });
    const id = await states.sent("again");
    await vi.waitFor(async () => expect((await states.gateway.delivery(id)).reason).not.toBeNull(), SOON);
    const { reason } = await states.onlyRun(id, "queued");
    expect(reason).toBe("attempt 1 of 2 failed, it is tried again: no reason is known");
    await states.canceled(id);
  });

  it("a run that succeeds at its second attempt keeps the first one's error and has no reason", async () => {
    sandbox.instead.push({ ...ERROR, error: "the model is busy", retryable: true });
    expect(await states.onlyRun(await states.sent("twice"), "done")).toMatchObject({
      reason: null,
      attempts: [
        { number: 1, status: "error", error: "the model is busy" },
        { number: 2, status: "ok", error: null },
      ],
    });
  });

  it("an agent that is stopped with the gateway is asked again after the next start", async () => {
    states.holdBack("Message cut.");
    const id = await states.sent("rerun", { text: "cut" });
    await states.seen(id, "running");
    await states.gateway.stop();
    states.answerWith({});
    await states.gateway.restart();
    expect(await states.onlyRun(id, "done")).toMatchObject({
      attempts: [
        { number: 1, status: "interrupted", error: "the gateway stopped while the agent was running" },
        { number: 2, status: "ok", error: null },
      ],
    });
  });

  it("an agent that a person stopped says so", async () => {
    states.holdBack("Message stopped.");
    const id = await states.sent("shared", { text: "stopped" });
    await states.seen(id, "running");
    await states.canceled(id);
    await vi.waitFor(async () => {
      const [run] = (await states.gateway.delivery(id)).runs;
      expect(run?.attempts).toMatchObject([
        { number: 1, status: "aborted", error: "a person canceled it while the agent was running" },
      ]);
    }, SOON);
  });

  it("a wake that the session never takes fails", async () => {
    const id = await states.sent("woken", { text: "w".repeat(1_100_000) });
    const { reason, attempts } = await states.onlyRun(id, "failed");
    expect(reason).toBe("A system event may have 1048576 characters; this one has more.");
    expect(attempts).toEqual([]);
  });
});

/** For what happens by itself; how long it takes is no matter. */
const SOON = { timeout: 15_000, interval: 10 };
