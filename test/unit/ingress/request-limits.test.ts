import { expect, test } from "vitest";
import { InFlight } from "../../../src/ingress/request-limits.ts";

test("as many requests as the limit are let in, the next is refused as BUSY until one has left", () => {
  const inFlight = new InFlight({ limit: () => 2 });
  expect(inFlight.enter()).toBeUndefined();
  expect(inFlight.enter()).toBeUndefined();
  expect(inFlight.enter()).toMatchObject({ refused: "BUSY" });
  expect(inFlight.count).toBe(2);
  inFlight.leave();
  expect(inFlight.enter()).toBeUndefined();
  expect(inFlight.enter()).toMatchObject({ refused: "BUSY" });
});

test("a changed limit holds for the next request, with those under way counted on", () => {
  let limit = 2;
  const inFlight = new InFlight({ limit: () => limit });
  inFlight.enter();
  inFlight.enter();
  limit = 3;
  expect(inFlight.enter()).toBeUndefined();
  limit = 1;
  inFlight.leave();
  inFlight.leave();
  expect(inFlight.enter()).toMatchObject({ refused: "BUSY" });
  inFlight.leave();
  expect(inFlight.enter()).toBeUndefined();
});

test("a request that had not entered cannot leave, so that the limit never grows", () => {
  const inFlight = new InFlight({ limit: () => 1 });
  expect(() => inFlight.leave()).toThrow("had not entered");
  inFlight.enter();
  inFlight.leave();
  expect(() => inFlight.leave()).toThrow("had not entered");
  expect(inFlight.count).toBe(0);
});
