import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeliveryDetail } from "../../src/core/delivery.ts";
import { laneOf, marksIn, senderOf } from "../torture/call-mark.ts";
import { WARNING } from "../torture/check-runs.ts";
import type { Evidence } from "../torture/evidence.ts";
import { CHECKS, findViolations, torture } from "../torture/torture.ts";
import type { TortureResult } from "../torture/torture.ts";
import { tortureFigures } from "../torture/torture-figures.ts";

const KILLS = 8;
/** `npm run torture` takes all of them. */
const POINTS = ["commit:after", "gathered:after", "run:after", "deliver:after", "settle:before"];

describe("a gateway that is killed again and again under load", () => {
  let result: TortureResult;

  beforeAll(async () => {
    result = await torture({ kills: KILLS, seed: 20_261_122, points: POINTS });
    console.log(tortureFigures(result).join("\n"));
  }, 400_000);

  it.each(Object.keys(CHECKS))("keeps its promise: %s", (promise) => {
    expect(result.violations[promise]).toEqual([]);
  });

  it("dies at the step that was named for it", () => {
    expect(result.kills).toHaveLength(KILLS);
    const missed = result.kills.filter(({ planned, reached }) => planned.kind === "step" && !reached);
    expect(missed).toEqual([]);
  });

  it("has taken calls of every sender, and has run some of them twice", () => {
    const senders = new Set(result.evidence.acknowledged.map(({ call }) => call.sender));
    expect([...senders].toSorted()).toEqual(["batch", "burst", "flaky", "github", "report", "shell", "stripe", "wake"]);
    const attempts = result.evidence.deliveries.flatMap(({ runs }) => runs.flatMap((run) => run.attempts));
    expect(attempts.some(({ status }) => status === "interrupted")).toBe(true);
  });

  describe("and the look at it", () => {
    let evidence: Evidence;
    beforeAll(() => {
      evidence = result.evidence;
    });
    afterAll(() => {
      expect(findViolations(evidence)).toEqual(result.violations);
    });

    function expectBroken(promise: keyof typeof CHECKS, doctored: Partial<Evidence>): void {
      expect(findViolations({ ...evidence, ...doctored })[promise]).not.toEqual([]);
    }

    it("notices a call that was answered 2xx and is gone", () => {
      const lost = evidence.acknowledged[7]!.deliveryId;
      expectBroken("every 2xx is listed and comes to its end", {
        deliveries: evidence.deliveries.filter(({ id }) => id !== lost),
      });
    });

    it("notices a delivery that never ends", () => {
      const [first, ...others] = evidence.deliveries;
      expectBroken("every 2xx is listed and comes to its end", {
        deliveries: [{ ...first!, state: "queued" }, ...others],
      });
    });

    it("notices a call that was accepted twice", () => {
      const again = evidence.deliveries.find(({ route }) => route === "stripe")!;
      expectBroken("nothing is accepted twice", {
        deliveries: [...evidence.deliveries, { ...again, id: "dlv_other" }],
      });
    });

    it("notices a coalesced call that its run does not count", () => {
      const coalesced = evidence.deliveries.find(({ state }) => state === "coalesced")!;
      expectBroken("coalesced calls stand in their run", {
        deliveries: evidence.deliveries.filter((delivery) => delivery !== coalesced),
      });
    });

    it("notices a run that went before another one of its lane", () => {
      const isInLane = ({ runs: [run] }: DeliveryDetail): boolean =>
        run?.spec.kind === "agent" && laneOf(marksIn(run.spec.message)[0]!) === "shell-0";
      const [first, second] = evidence.deliveries.filter(isInLane);
      const swap = (delivery: DeliveryDetail): DeliveryDetail =>
        delivery === first ? second! : delivery === second ? first! : delivery;
      expectBroken("each lane keeps its order", { deliveries: evidence.deliveries.map(swap) });
    });

    it("notices a run that ran twice for no reason", () => {
      const promise = "what ran twice was under way at a kill";
      const again = evidence.modelCalls.find(
        ({ isTurn, prompt }) => !isTurn && senderOf(marksIn(prompt)[0]!) === "stripe" && !prompt.includes(WARNING),
      )!;
      const modelCalls = [...evidence.modelCalls, again];
      expectBroken(promise, { modelCalls });
      // Whether a kill cut off a run at all is chance, so that one is added here too.
      expectBroken(promise, { modelCalls, killedAt: [] });
    });

    it("notices a kill that cut off more than may run at once", () => {
      const isCutOff = ({ runs }: DeliveryDetail): boolean =>
        runs.some(({ attempts }) => attempts.some(({ status }) => status === "interrupted"));
      const one = evidence.deliveries.find(isCutOff)!;
      expectBroken("a kill cuts off no more than may run at once", {
        deliveries: [...evidence.deliveries, ...Array.from({ length: 8 }, () => one)],
      });
    });

    it("notices a reply that never arrived, and one that came twice", () => {
      const arrived = evidence.messages.find(({ status }) => status < 300)!;
      const { webhookId } = arrived;
      expectBroken("replies arrive", { messages: evidence.messages.filter((each) => each.webhookId !== webhookId) });
      const later = { ...arrived, at: Date.now() };
      expectBroken("replies arrive", { messages: [...evidence.messages, later], killedAt: [] });
    });

    it("notices an event that never came", () => {
      expectBroken("events arrive", {
        pendingEvents: [],
        modelCalls: evidence.modelCalls.filter(({ isTurn }) => !isTurn),
      });
    });
  });
});
