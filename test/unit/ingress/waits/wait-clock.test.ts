import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WaitClock } from "../../../../src/ingress/waits/wait-clock.ts";
import { RECEIVED_AT, StageBench } from "../stages/stage-bench.ts";
import { newWait } from "./new-wait.ts";
import { waitingBench } from "./waiting-bench.ts";

describe("waits whose deadline has come", () => {
  let bench: StageBench;
  beforeEach(async () => {
    bench = await StageBench.open();
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  it("end although a plugin throws for one of them, which stays for the next look", async () => {
    const waits = [1, 2, 3].map((number) =>
      newWait({ id: `wait_${number}`, sessionKey: `agent:main:hook:${number}`, until: RECEIVED_AT - 1 }),
    );
    const { ingress, book } = await waitingBench(bench, waits);
    let isBroken = true;
    bench.hooks.policy.tapPromise("a plugin", async (_, { payload }) => {
      if (isBroken && (payload as { wait: string }).wait === "wait_1") throw new Error("it knows no wait");
      return undefined;
    });
    const active = await bench.active();
    const clock = new WaitClock({ ingress, book, active: () => active });
    const left = (): string[] => [...book.all()].map(({ wait }) => wait.id);
    await clock.endDue();
    await clock.endDue();
    expect(left()).toEqual(["wait_1"]);
    expect(bench.logged.filter(({ level }) => level === "error")).toHaveLength(1);
    isBroken = false;
    await clock.endDue();
    expect(left()).toEqual([]);
  });
});
