/** The connection of the page without a browser: its times are those of a clock that the tests turn. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";

/** The part of a browser that the connection needs. */
class Source extends EventTarget {
  static readonly CLOSED = 2;
  static readonly opened: Source[] = [];
  readyState = 1;

  constructor() {
    super();
    Source.opened.push(this);
  }

  close(): void {
    this.readyState = Source.CLOSED;
  }
}

const page = Object.assign(new EventTarget(), { visibilityState: "visible" });

function emit(type: string): void {
  Source.opened.at(-1)?.dispatchEvent(new Event(type));
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetModules();
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("document", page);
  Source.opened.length = 0;
});

afterEach(() => {
  vi.useRealTimers();
});

it("reads again within half a minute after a read that took long, and at once when it has connected again", async () => {
  const { connect, onChange } = await import("../../src/console/app/live.ts");
  let reads = 0;
  onChange(async () => {
    reads++;
    if (reads === 1) await new Promise((resolve) => setTimeout(resolve, 20_000));
  });
  connect();
  emit("open");
  emit("change");
  await vi.advanceTimersByTimeAsync(21_000);
  expect(reads).toBe(1);
  emit("change");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(reads).toBe(2);
  emit("change");
  emit("open");
  emit("change");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reads).toBe(3);
});

it("asks whether the sign-in lasts when its connection was refused, and connects no more without one", async () => {
  const answers = [new Response("{}", { status: 503 }), new Response("{}", { status: 401 })];
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    return answers.shift();
  });
  const { connect } = await import("../../src/console/app/live.ts");
  const { isSignedIn } = await import("../../src/console/app/client.ts");
  connect();
  for (let tries = 0; tries < 3; tries++) {
    Source.opened.at(-1)?.close();
    emit("error");
    await vi.advanceTimersByTimeAsync(2_000);
  }
  expect(asked).toEqual(["api/status", "api/status"]);
  expect([Source.opened.length, isSignedIn.value]).toEqual([2, false]);
});
