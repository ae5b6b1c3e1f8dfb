import { afterEach, beforeEach, describe } from "vitest";
import { describeAccepting } from "./accepting.ts";
import { describeClosing } from "./closing.ts";
import { describeIdempotency } from "./idempotency.ts";
import { describeListing } from "./listing.ts";
import { describeMarks } from "./marks.ts";
import { describeProgress } from "./progress.ts";
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
    describe("marks", () => {
      describeMarks(underTest);
    });
    describe("progress of runs", () => {
      describeProgress(underTest);
    });
    describe("list", () => {
      describeListing(underTest);
    });
    describe("close", () => {
      describeClosing(underTest);
    });
  });
}
