import { describe, expect, it } from "vitest";
import { RetryCounters } from "../../../../src/dispatch/run/retry-counters.ts";

describe("notes of runs that are tried again", () => {
  it("are made at the first mention, and kept until they are forgotten", () => {
    const notes = new RetryCounters();
    expect(notes.peek("a")).toBeUndefined();
    notes.of("a").sends = 2;
    expect(notes.of("a").sends).toBe(2);
    expect(notes.peek("a")).toBe(notes.of("a"));
    notes.forget("a");
    expect(notes.peek("a")).toBeUndefined();
    expect(notes.of("a").sends).toBe(0);
  });

  it("are bounded: the oldest is dropped, and the tries of its run are counted from zero", () => {
    const notes = new RetryCounters(2);
    notes.of("a").sends = 1;
    notes.of("b").sends = 2;
    notes.of("c").sends = 3;
    expect([notes.peek("a"), notes.peek("b")?.sends, notes.peek("c")?.sends]).toEqual([undefined, 2, 3]);
  });
});
