import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { ThrottledSteps } from "../../../src/storage/throttled-steps.ts";

const PAUSES = { busyMs: 1, idleMs: 3_600_000 };

function stepsOf(step: () => Promise<boolean>, pauses = PAUSES) {
  const failures: unknown[] = [];
  const steps = new ThrottledSteps({ step, onFailure: (error) => failures.push(error), delays: pauses });
  onTestFinished(() => steps.stop());
  return { steps, failures };
}

it("continues with a short pause while there is more to do, and then waits for the long one", async () => {
  let left = 5;
  const step = vi.fn<() => Promise<boolean>>(async () => --left > 0);
  const { steps } = stepsOf(step);
  steps.start();
  steps.start();
  await expect.poll(() => step.mock.calls.length).toBe(5);
  await sleep(30);
  expect(step).toHaveBeenCalledTimes(5);
});

it("carries out one step at a time", async () => {
  let underWay = 0;
  let most = 0;
  let done = 0;
  const { steps } = stepsOf(async () => {
    most = Math.max(most, ++underWay);
    await sleep(5);
    underWay--;
    return ++done < 4;
  });
  steps.start();
  await expect.poll(() => done).toBe(4);
  expect(most).toBe(1);
});

it("stops when the step in progress has ended, and starts none after it", async () => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  let ended = 0;
  const { steps } = stepsOf(async () => {
    begun.resolve();
    await finish.promise;
    ended++;
    return true;
  });
  steps.start();
  await begun.promise;
  let isStopped = false;
  const stopped = steps.stop().then(() => {
    isStopped = true;
  });
  await sleep(10);
  expect(isStopped).toBe(false);
  finish.resolve();
  await stopped;
  await sleep(20);
  expect(ended).toBe(1);
});

it("reports the first of successive failures, and continues", async () => {
  const outcomes = ["fails", "fails", "works", "fails"];
  let calls = 0;
  const { steps, failures } = stepsOf(
    async () => {
      const outcome = outcomes[calls++];
      if (outcome === "fails") throw new Error(`call ${calls}`);
      return false;
    },
    { busyMs: 1, idleMs: 1 },
  );
  steps.start();
  await expect.poll(() => calls).toBeGreaterThan(outcomes.length);
  expect(failures.map(String)).toEqual(["Error: call 1", "Error: call 4"]);
});

it("says nothing of a step that fails while it is being stopped: the store is closing", async () => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<boolean>();
  const { steps, failures } = stepsOf(() => {
    begun.resolve();
    return finish.promise;
  });
  steps.start();
  await begun.promise;
  const stopped = steps.stop();
  finish.reject(new Error("closed"));
  await stopped;
  expect(failures).toEqual([]);
});
