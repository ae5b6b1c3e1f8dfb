import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { TurnTimer } from "../../../src/core/turn-timer.ts";

let ended = 0;
const timerOf = (ms: number): TurnTimer => new TurnTimer(ms, () => void ended++);

beforeEach(() => {
  ended = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("ends once the time is used up", () => {
  timerOf(1_000);
  vi.advanceTimersByTime(999);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ended).toBe(1);
});

it("costs no time while a question waits, however many do at once", () => {
  const timer = timerOf(1_000);
  vi.advanceTimersByTime(400);
  timer.hold(true);
  vi.advanceTimersByTime(10_000);
  timer.hold(true);
  timer.hold(false);
  vi.advanceTimersByTime(10_000);
  expect(ended).toBe(0);
  timer.hold(false);
  vi.advanceTimersByTime(599);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ended).toBe(1);
});

it("waits for the owner no longer than a day in all", () => {
  const timer = timerOf(1_000);
  timer.hold(true);
  vi.advanceTimersByTime(43_200_000);
  timer.hold(false);
  timer.hold(true);
  vi.advanceTimersByTime(43_199_999);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ended).toBe(1);
  timer.hold(false);
  vi.advanceTimersByTime(5_000);
  expect(ended).toBe(1);
});

it("never ends when it is cleared", () => {
  const timer = timerOf(10);
  timer.clear();
  timer.hold(true);
  timer.hold(false);
  vi.advanceTimersByTime(1_000);
  expect(ended).toBe(0);
});
