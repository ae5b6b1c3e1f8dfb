import { expect, it, vi } from "vitest";
import { HeldAnswers } from "../../../src/ingress/request-limits.ts";
import { callPipeline } from "./stages/pipeline-calls.ts";
import { StageBench } from "./stages/stage-bench.ts";

it("a wrong guess from a locked address waits without a place, and a valid token passes at once", async () => {
  await using bench = await StageBench.open();
  const heldAnswers = new HeldAnswers({ max: 256, ms: 3_600_000 });
  Object.assign(bench.ingress, { heldAnswers });
  const active = await bench.active({ lockout: { failures: 1 } });
  const guess = { path: "wake", body: '{"text":"x"}', headers: ["Authorization: Bearer wrong"] };
  expect((await callPipeline(bench, active, guess)).status).toBe(401);
  const late = callPipeline(bench, active, guess);
  await vi.waitFor(() => {
    expect(heldAnswers.count).toBe(1);
  }, 15_000);
  expect(bench.ingress.inFlight.count).toBe(0);
  expect((await callPipeline(bench, active, { path: "wake", body: '{"text":"x"}' })).status).toBe(200);
  expect(heldAnswers.count).toBe(1);
  heldAnswers.close();
  expect((await late).status).toBe(429);
});
