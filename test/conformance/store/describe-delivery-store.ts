import { afterEach, beforeEach, describe } from "vitest";
import { describeAccepting } from "./accepting.ts";
import { describeClosing } from "./closing.ts";
import { describeFailingAtOnce } from "./failing-at-once.ts";
import { describeCoalescing } from "./coalescing.ts";
import { describeIdempotency } from "./idempotency.ts";
import { describeListing } from "./listing.ts";
import { describeReplayKeys } from "./replay-keys.ts";
import { describeOperationalState } from "./operational-state.ts";
import { describeOverlap } from "./overlap.ts";
import { describePostponing } from "./postponing.ts";
import { describeProgress } from "./progress.ts";
import { describeRemoval } from "./removal.ts";
import { describeRepeats } from "./repeats.ts";
import { describeReplayable } from "./replayable.ts";
import { describeResolving } from "./resolving.ts";
import { describeRetention } from "./retention.ts";
import { describeWaits } from "./waits.ts";
import type { StoreHarness, StoreUnderTest } from "./store-harness.ts";

/** Holds an implementation of DeliveryStore to its contract; each test has storage of its own. */
export function describeDeliveryStore(name: string, harness: StoreHarness): void {
  describe(`DeliveryStore: ${name}`, () => {
    let session: StoreUnderTest;
    beforeEach(async () => {
      session = await harness.create();
    });
    afterEach(() => session.dispose());

    const underTest = () => session;
    describe("accept", () => {
      describeAccepting(underTest);
    });
    describe("idempotency", () => {
      describeIdempotency(underTest);
    });
    describe("replay keys", () => {
      describeReplayKeys(underTest);
    });
    describe("repeats", () => {
      describeRepeats(underTest);
    });
    describe("coalescing", () => {
      describeCoalescing(underTest);
    });
    describe("overlap", () => {
      describeOverlap(underTest);
    });
    describe("deliveries that fail at once", () => {
      describeFailingAtOnce(underTest);
    });
    describe("progress of runs", () => {
      describeProgress(underTest);
    });
    describe("runs that are postponed", () => {
      describePostponing(underTest);
    });
    describe("resolutions", () => {
      describeResolving(underTest);
    });
    describe("replay", () => {
      describeReplayable(underTest);
    });
    describe("list", () => {
      describeListing(underTest);
    });
    describe("remove", () => {
      describeRemoval(underTest);
    });
    describe("prune", () => {
      describeRetention(underTest);
    });
    describe("operational state", () => {
      describeOperationalState(underTest);
    });
    describe("waits", () => {
      describeWaits(underTest);
    });
    describe("close", () => {
      describeClosing(underTest);
    });
  });
}
