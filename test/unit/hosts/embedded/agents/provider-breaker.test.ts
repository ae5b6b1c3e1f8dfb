import { describe, expect, it } from "vitest";
import { ProviderBreaker, turnEnd } from "../../../../../src/hosts/embedded/agents/provider-breaker.ts";
import type { ProviderConfig } from "../../../../../src/hosts/embedded/config/file.ts";

const provider = {} as ProviderConfig;
const other = {} as ProviderConfig;
const ORDINARY = { isProbe: false };
const PROBE = { isProbe: true };

function breakerAt() {
  const clock = { ms: 0 };
  const breaker = new ProviderBreaker(() => clock.ms);
  return { breaker, clock };
}

/** A breaker whose provider has just been left alone. */
function openBreaker() {
  const { breaker, clock } = breakerAt();
  for (let failure = 0; failure < 5; failure++) breaker.ended(provider, ORDINARY, "down");
  return { breaker, clock };
}

describe("a provider", () => {
  it("is left alone after five failed turns in a row, and others are not", () => {
    const { breaker } = breakerAt();
    for (let failure = 0; failure < 4; failure++) breaker.ended(provider, ORDINARY, "down");
    expect(breaker.enter(provider)).toEqual(ORDINARY);
    breaker.ended(provider, ORDINARY, "down");
    expect(breaker.enter(provider)).toEqual({ waitMs: 5_000 });
    expect(breaker.enter(other)).toEqual(ORDINARY);
  });

  it("is not left alone for failures between successes, nor for aborted turns", () => {
    const { breaker } = breakerAt();
    for (let turn = 0; turn < 20; turn++) {
      breaker.ended(provider, ORDINARY, turn % 4 === 3 ? "works" : "down");
      breaker.ended(other, ORDINARY, "unknown");
    }
    expect([breaker.enter(provider), breaker.enter(other)]).toEqual([ORDINARY, ORDINARY]);
  });

  it("is tried by one turn after the pause, while the others wait", () => {
    const { breaker, clock } = openBreaker();
    clock.ms = 5_000;
    expect(breaker.enter(provider)).toEqual(PROBE);
    expect(breaker.enter(provider)).toEqual({ waitMs: 1_000 });
    breaker.ended(provider, PROBE, "works");
    expect(breaker.enter(provider)).toEqual(ORDINARY);
  });

  it("is left alone twice as long after each try, up to a minute", () => {
    const { breaker, clock } = openBreaker();
    const pauses: unknown[] = [];
    for (let probe = 0; probe < 5; probe++) {
      clock.ms += 60_000;
      expect(breaker.enter(provider)).toEqual(PROBE);
      breaker.ended(provider, PROBE, "down");
      pauses.push(breaker.enter(provider));
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000].map((waitMs) => ({ waitMs })));
  });

  it("is tried by the next turn when the first one that tried was aborted", () => {
    const { breaker, clock } = openBreaker();
    clock.ms = 5_000;
    breaker.enter(provider);
    breaker.ended(provider, PROBE, "unknown");
    expect(breaker.enter(provider)).toEqual(PROBE);
  });

  it("is not left alone longer for turns that had begun before", () => {
    const { breaker, clock } = openBreaker();
    clock.ms = 4_000;
    breaker.ended(provider, ORDINARY, "down");
    expect(breaker.enter(provider)).toEqual({ waitMs: 1_000 });
  });
});

it.each([
  [{ status: "ok" }, "works"],
  [{ status: "error", retryable: true }, "down"],
  [{ status: "error", retryable: true, isUnasked: true }, "unknown"],
  [{ status: "error" }, "works"],
  [{ status: "timeout" }, "unknown"],
  [{ status: "aborted" }, "unknown"],
] as const)("a turn with the result %j shows that its provider is: %s", (result, end) => {
  expect(turnEnd(result)).toBe(end);
});
