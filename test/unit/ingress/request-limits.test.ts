import { Socket } from "node:net";
import { describe, expect, it, test } from "vitest";
import { refuse } from "../../../src/core/errors.ts";
import { answerRefusal } from "../../../src/http/answer.ts";
import { HeldAnswers, InFlight, UnverifiedPlaces } from "../../../src/ingress/request-limits.ts";

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

test("a changed limit applies to the next request, and requests in progress still count", () => {
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

describe("an answer to a guess from a locked address", () => {
  const ANSWER = answerRefusal(refuse("TOO_MANY_FAILURES", undefined, { retryAfterSeconds: 9 }));
  const LONG = { max: 256, ms: 3_600_000 };

  it("is held for its time, and then sent as it is", async () => {
    expect(await new HeldAnswers({ max: 1, ms: 0 }).hold(ANSWER, new Socket())).toBe(ANSWER);
  });

  it("is held no longer than its client stays", async () => {
    const answers = new HeldAnswers(LONG);
    const socket = new Socket();
    const held = answers.hold(ANSWER, socket);
    expect(answers.count).toBe(1);
    socket.destroy();
    expect(await held).toBe(ANSWER);
    expect(answers.count).toBe(0);
  });

  it("is sent at once over the bound, and its connection closes", async () => {
    const answers = new HeldAnswers({ ...LONG, max: 1 });
    const held = answers.hold(ANSWER, new Socket());
    expect(await answers.hold(ANSWER, new Socket())).toMatchObject({
      status: 429,
      headers: { connection: "close" },
    });
    answers.close();
    expect(await held).toBe(ANSWER);
    expect((await answers.hold(ANSWER, new Socket())).headers).toMatchObject({ connection: "close" });
  });
});
