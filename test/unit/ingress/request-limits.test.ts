import { describe, expect, it, test } from "vitest";
import { InFlight, UnverifiedPlaces } from "../../../src/ingress/request-limits.ts";

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

describe("the places of unverified requests", () => {
  it("are a quarter of all places, and one client has an eighth of them", () => {
    const places = new UnverifiedPlaces({ maxInFlight: () => 64 });
    expect([places.enter("a"), places.enter("a")]).toEqual([undefined, undefined]);
    expect(places.enter("a")).toMatchObject({ refused: "BUSY" });
    const others = Array.from({ length: 14 }, (_, at) => places.enter(`client ${at}`));
    expect(others.every((refusal) => refusal === undefined)).toBe(true);
    expect([places.count, places.enter("z")]).toEqual([16, expect.objectContaining({ refused: "BUSY" })]);
    places.leave("a");
    expect(places.enter("z")).toBeUndefined();
  });

  it("are at least one", () => {
    const places = new UnverifiedPlaces({ maxInFlight: () => 1 });
    expect(places.enter("a")).toBeUndefined();
    expect(places.enter("b")).toMatchObject({ refused: "BUSY" });
    places.leave("a");
    expect(places.enter("b")).toBeUndefined();
  });

  it("cannot be given back by a client that holds none", () => {
    const places = new UnverifiedPlaces({ maxInFlight: () => 64 });
    expect(() => {
      places.leave("a");
    }).toThrow("had not entered");
  });
});
