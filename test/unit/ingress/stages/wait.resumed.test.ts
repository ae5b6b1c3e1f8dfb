import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RunDetail } from "../../../../src/core/run.ts";
import type { Answer } from "../../../../src/http/answer.ts";
import { newWait } from "../waits/new-wait.ts";
import { waitingBench } from "../waits/waiting-bench.ts";
import { acceptedBy, callPipeline, WITH_TOKEN } from "./pipeline-calls.ts";
import { RECEIVED_AT, StageBench } from "./stage-bench.ts";

const SESSION = "agent:main:hook:release";
const SECRET = "what the private conversation said";
const MAPPING = { id: "deploys", match: { path: "deploys" }, messageTemplate: "Deploy {{id}}", deliver: false };
const WAIT = newWait({ sessionKey: SESSION, all: [{ hook: "deploys" }], until: RECEIVED_AT + 60_000 });
const SOON = { timeout: 15_000, interval: 5 };

/** The dispatcher is not started: runs are settled by hand. */
describe("the caller whose event resumes a session", () => {
  let bench: StageBench;
  beforeEach(async () => {
    bench = await StageBench.open();
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  async function calls(instead = false): Promise<() => Promise<Answer>> {
    const waiting = await waitingBench(bench, [{ ...WAIT, instead }]);
    const active = await bench.active({ waitSeconds: 60, mappings: [{ ...MAPPING, respond: "result" }] });
    const headers = [...WITH_TOKEN, "Idempotency-Key: once"];
    return () => callPipeline(waiting, active, { path: "deploys", body: '{"id":7}', headers });
  }

  async function runs(): Promise<readonly RunDetail[]> {
    const { store } = bench.ingress;
    const { deliveries } = await store.list({ limit: 10 });
    const detail = await store.get(deliveries.find(({ state }) => state !== "duplicate")!.id);
    return detail!.runs;
  }

  async function settle({ id }: RunDetail, reply: string): Promise<void> {
    const { store, watch } = bench.ingress;
    await store.beginAttempt(id, { number: 1, startedAt: 1 });
    await store.endAttempt(id, { endedAt: 2, status: "ok", error: null, reply });
    await store.settle(id, { state: "done", reason: null });
    watch.notify(id, reply);
  }

  it("gets the result of its own run alone, and does not wait for the other, also when it repeats the call", async () => {
    const call = await calls();
    const answered = call();
    await vi.waitFor(() => expect(bench.ingress.watch.count).toBe(1), SOON);
    const [own, resumed] = await runs();
    expect(resumed!.spec).toMatchObject({ sessionKey: SESSION, resumes: WAIT.id });
    await settle(own!, "deployed");
    const { status, payload } = await answered;
    expect([status, JSON.parse(payload)]).toEqual([200, expect.objectContaining({ ok: true, reply: "deployed" })]);
    await settle(resumed!, SECRET);
    const repeat = await call();
    expect(JSON.parse(repeat.payload)).toEqual(JSON.parse(payload));
    expect(payload).not.toContain(resumed!.id);
  });

  it("gets the ordinary answer where no run is its own, at once, and the delivery says so", async () => {
    const stored = acceptedBy(bench);
    const call = await calls(true);
    const { status, payload } = await call();
    expect([status, JSON.parse(payload)]).toEqual([202, expect.objectContaining({ ok: true })]);
    expect(stored[0]).toMatchObject({ answered: 202 });
    const [resumed] = await runs();
    await settle(resumed!, SECRET);
    expect(await call()).toMatchObject({ status: 202, payload });
  });
});
