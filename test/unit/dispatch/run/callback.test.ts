import { randomBytes } from "node:crypto";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createGuardedFetch, FetchError } from "../../../../src/http/guarded-fetch.ts";
import { HostError } from "../../../../src/core/host.ts";
import { makeCertificate, trustAuthority } from "../../auth/keys/make-certificate.ts";
import { startKeyServer } from "../../auth/keys/key-server.ts";
import { agentSpec } from "../dispatch-bench.ts";
import { RunnerBench } from "../runner-bench.ts";

const authority = makeCertificate({ commonName: "Test Authority" });
const certificate = makeCertificate({ commonName: "ci", hosts: ["ci.example.com"], issuer: authority });

afterAll(trustAuthority(authority.pem));
const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const CALLBACKS = { hosts: ["ci.example.com"], secret: SECRET };

interface Call {
  readonly headers: Record<string, string>;
  readonly body: string;
}

describe("the callback of a run", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
  });
  afterEach(() => bench.reset());
  afterAll(() => bench.close());

  /** A receiver that answers with each of the statuses in turn, and with the last one from then on. */
  async function receiver(...statuses: number[]): Promise<{ url: string; calls: Call[] }> {
    const calls: Call[] = [];
    const server = await startKeyServer(
      (response, request) => {
        void text(request).then((body) => {
          calls.push({ headers: request.headers as Record<string, string>, body });
          response.writeHead(statuses[Math.min(calls.length, statuses.length) - 1]!, { location: "/other" }).end();
        });
      },
      { certificate },
    );
    bench.callbacks = CALLBACKS;
    bench.fetch = createGuardedFetch({
      allowLoopback: true,
      resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    });
    return { url: `https://ci.example.com:${server.port}/done`, calls };
  }

  it("is a POST of the result, signed by Standard Webhooks", async () => {
    const { url, calls } = await receiver(204);
    const runId = await bench.run({ callbackUrl: url });
    const { deliveryId } = await bench.store.loadRun(runId);
    expect(calls).toHaveLength(1);
    const { headers, body } = calls[0]!;
    expect(headers["content-type"]).toBe("application/json");
    expect(new Webhook(SECRET).verify(body, headers)).toEqual({
      type: "run.settled",
      runId,
      deliveryId,
      state: "done",
      reply: "All done.",
      error: null,
      code: null,
      delivery: "sent",
    });
    expect(() => new Webhook(SECRET).verify(`${body} `, headers)).toThrow("No matching signature");
    expect(await bench.detail(runId)).toMatchObject({ state: "done", reason: null });
  });

  it("has the whole reply, however long", async () => {
    const reply = "é".repeat(100_000);
    bench.host.onRun = async () => ({ status: "ok", reply });
    const { url, calls } = await receiver(200);
    await bench.run({ callbackUrl: url });
    expect(JSON.parse(calls[0]!.body)).toMatchObject({ reply });
  });

  it("reports a run that failed in the gateway's own words", async () => {
    bench.host.onRun = async () => ({ status: "error", reply: "", error: "no credit" });
    const { url, calls } = await receiver(200);
    await bench.run({ callbackUrl: url });
    expect(JSON.parse(calls[0]!.body)).toMatchObject({
      state: "failed",
      reply: null,
      error: "The agent's run failed.",
      code: "RUN_FAILED",
      delivery: "none",
    });
  });

  describe("that is canceled in progress", () => {
    /** Cancels a run while the agent is at it. */
    async function cancel(callbackUrl: string | undefined, meanwhile = async (_runId: string) => {}): Promise<string> {
      const stop = new AbortController();
      const runId = await bench.accept(agentSpec({ callbackUrl }));
      bench.host.onRun = async () => {
        await bench.store.settle(runId, { state: "canceled", reason: "a person canceled it" });
        await meanwhile(runId);
        stop.abort();
        return { status: "aborted", reply: "half" };
      };
      expect(await bench.carryOut(runId, stop.signal)).toEqual({ kind: "ended" });
      return runId;
    }

    it("says so, without the reply", async () => {
      const { url, calls } = await receiver(200);
      const runId = await cancel(url);
      expect(calls.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
        { type: "run.settled", runId, state: "canceled", reply: null, error: null },
      ]);
      expect((await bench.store.loadRun(runId)).steps).toEqual(["called-back"]);
      expect((await bench.detail(runId)).reason).toBe("a person canceled it");
    });

    it("is tried once, and the log says that it failed", async () => {
      const { url, calls } = await receiver(503);
      await cancel(url);
      expect(calls).toHaveLength(1);
      expect(bench.logged).toEqual(["the callback of a canceled run failed"]);
    });

    it("is not made twice, and not where none was asked for", async () => {
      const { url, calls } = await receiver(200);
      await cancel(url, (runId) => bench.store.recordStep(runId, "called-back"));
      await cancel(undefined);
      expect(calls).toEqual([]);
      expect(bench.logged).toEqual([]);
    });
  });

  it("is not made for runs that asked for none", async () => {
    const { calls } = await receiver(200);
    await bench.run();
    expect(calls).toEqual([]);
  });

  it("is tried again later with the same id and body: neither slot nor lane is held, nothing else is repeated", async () => {
    const { url, calls } = await receiver(503, 429, 200);
    const runId = await bench.accept(agentSpec({ callbackUrl: url }));
    const left = await bench.carryOut(runId);
    expect(left).toMatchObject({ kind: "postponed", holdsLane: false, replied: true });
    expect(await bench.detail(runId)).toMatchObject({
      state: "queued",
      reason: "the callback to ci.example.com failed at try 1 of 3, it is tried again: it answers with status 503",
    });
    expect(await bench.finish(runId)).toHaveLength(1);
    expect(new Set(calls.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
    expect(calls).toHaveLength(3);
    expect(
      [bench.host.runs, bench.host.events, bench.host.sent, bench.host.heartbeats].map((kept) => kept.length),
    ).toEqual([1, 1, 1, 1]);
    expect(await bench.detail(runId)).toMatchObject({ state: "done", reason: null });
  });

  it("has an id of its own for each run, which says nothing of it", async () => {
    const { url, calls } = await receiver(200);
    const first = await bench.run({ callbackUrl: url });
    await bench.run({ callbackUrl: url });
    const ids = calls.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).not.toContain(first);
  });

  it.each([
    [400, "it answers with status 400"],
    [410, "it answers with status 410"],
    [302, "it answers with a redirect (302)"],
    [307, "it answers with a redirect (307)"],
  ])("that is answered with %i fails permanently: the reason says so, and the run is done", async (status, why) => {
    const { url, calls } = await receiver(status);
    const runId = await bench.run({ callbackUrl: url });
    expect(calls).toHaveLength(1);
    expect(await bench.detail(runId)).toMatchObject({
      state: "done",
      reason: `the callback to ci.example.com failed: ${why}`,
    });
    expect(bench.notices).toEqual([]);
  });

  it("fails permanently when its tries are used up, and keeps the reason of the reply as well", async () => {
    bench.host.onRun = async () => ({ status: "ok", reply: "NO_REPLY" });
    const { url, calls } = await receiver(500);
    const runId = await bench.run({ callbackUrl: url });
    expect(calls).toHaveLength(3);
    expect(await bench.detail(runId)).toMatchObject({
      state: "done",
      delivery: "suppressed",
      reason: "not delivered: the reply is NO_REPLY; the callback to ci.example.com failed: it answers with status 500",
    });
  });

  it("keeps the reason of a delivery that failed while it is tried again", async () => {
    bench.host.onSend = async () => {
      throw new HostError("chat not found", { retryable: false });
    };
    const { url, calls } = await receiver(500, 200);
    const runId = await bench.run({ callbackUrl: url });
    expect(calls.map(({ body }) => (JSON.parse(body) as { code: string }).code)).toEqual(
      Array(2).fill("REPLY_NOT_DELIVERED"),
    );
    expect(calls[0]!.body).not.toContain("chat not found");
    expect(await bench.detail(runId)).toMatchObject({
      state: "failed",
      reason: "delivery to console failed: chat not found",
    });
  });

  it("of a run that failed is tried again without asking the agent again, also after a restart", async () => {
    bench.host.onRun = async () => ({ status: "error", reply: "", error: "overloaded", retryable: true });
    const { url, calls } = await receiver(500, 200);
    const runId = await bench.accept(agentSpec({ callbackUrl: url }));
    for (let attempt = 1; attempt <= 3; attempt++) await bench.carryOut(runId);
    expect(bench.host.runs).toHaveLength(3);
    await bench.restart();
    await bench.finish(runId);
    expect(bench.host.runs).toHaveLength(3);
    expect(calls).toHaveLength(2);
    expect(calls[0]!.body).toBe(calls[1]!.body);
    expect(await bench.detail(runId)).toMatchObject({
      state: "failed",
      reason: "error after 3 attempts: overloaded",
    });
  });

  it("is remembered once it was made: a process that dies before the run is settled does not repeat it", async () => {
    const { url, calls } = await receiver(200);
    vi.spyOn(bench.store, "settle").mockRejectedValueOnce(new Error("The process died."));
    const runId = await bench.accept(agentSpec({ callbackUrl: url }));
    await expect(bench.carryOut(runId)).rejects.toThrow("The process died.");
    await bench.restart();
    await bench.finish(runId);
    expect(calls).toHaveLength(1);
    expect(await bench.detail(runId)).toMatchObject({ state: "done", reason: null });
  });

  it("is not sent once the configuration does not allow its host any more", async () => {
    const { url, calls } = await receiver(200);
    for (const callbacks of [undefined, { hosts: ["example.com"], secret: SECRET }]) {
      bench.callbacks = callbacks;
      const runId = await bench.run({ callbackUrl: url });
      expect(await bench.detail(runId)).toMatchObject({
        state: "done",
        reason: "the callback was not sent: hooks.callbacks.hosts does not allow its host any more",
      });
    }
    expect(calls).toEqual([]);
  });

  it("never goes to a private address, whatever name has it", async () => {
    await receiver(200);
    bench.fetch = createGuardedFetch({ resolve: async () => [{ address: "10.0.0.7", family: 4 }] });
    const runId = await bench.run({ callbackUrl: "https://ci.example.com/done" });
    expect((await bench.detail(runId)).reason).toBe(
      "the callback to ci.example.com failed: its host has an address that is not public",
    );
  });

  it("is left to the next process at a shutdown's deadline", async () => {
    const { url, calls } = await receiver(200);
    const { fetch } = bench;
    bench.fetch = () => {
      bench.abandon();
      return Promise.reject(new FetchError("it was stopped"));
    };
    const runId = await bench.accept(agentSpec({ callbackUrl: url }));
    expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
    expect(bench.settled).toEqual([]);
    bench.fetch = fetch;
    await bench.restart();
    await bench.finish(runId);
    expect(calls).toHaveLength(1);
    expect((await bench.detail(runId)).state).toBe("done");
  });

  it("fails without a word of a defect's own, and the secret is nowhere to be seen", async () => {
    await receiver(200);
    bench.fetch = () => Promise.reject(new Error(`defect with ${SECRET}`));
    const runId = await bench.run({ callbackUrl: "https://ci.example.com/done" });
    const detail = await bench.detail(runId);
    expect(detail.reason).toBe("the callback to ci.example.com failed: it could not be sent");
    expect(JSON.stringify([detail, bench.logged, bench.settled])).not.toContain(SECRET);
  });
});
