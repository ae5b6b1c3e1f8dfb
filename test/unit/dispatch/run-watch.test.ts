import { describe, expect, it } from "vitest";
import { RunWatch } from "../../../src/dispatch/run-watch.ts";

/** Longer than any of these tests takes. */
const NEVER_MS = 60_000;

describe("RunWatch", () => {
  it("notifies exactly the callers that wait for a run that it is settled", async () => {
    const watch = new RunWatch();
    const [first, same, other] = [
      watch.watch(["a"], NEVER_MS),
      watch.watch(["a"], NEVER_MS),
      watch.watch(["b"], NEVER_MS),
    ];
    watch.notify("a");
    expect(await Promise.all([first.settled, same.settled])).toEqual([true, true]);
    expect(watch.count).toBe(1);
    other.end();
    expect(await other.settled).toBe(false);
  });

  it("waits for the last of several runs, whatever their order", async () => {
    const watch = new RunWatch();
    const watching = watch.watch(["a", "b", "c"], NEVER_MS);
    for (const runId of ["c", "a", "c"]) watch.notify(runId);
    expect(watch.count).toBe(1);
    watch.notify("b");
    expect(await watching.settled).toBe(true);
    expect(watch.count).toBe(0);
  });

  it("gives up when the time is up", async () => {
    const watch = new RunWatch();
    expect(await watch.watch(["a"], 1).settled).toBe(false);
    expect(watch.count).toBe(0);
    watch.notify("a");
  });

  it("forgets those who wait no more, and keeps the others of the same run", async () => {
    const watch = new RunWatch();
    const gone = watch.watch(["a"], NEVER_MS);
    const stays = watch.watch(["a"], NEVER_MS);
    gone.end();
    gone.end();
    expect([await gone.settled, watch.count]).toEqual([false, 1]);
    watch.notify("a");
    expect([await stays.settled, watch.count]).toEqual([true, 0]);
    stays.end();
  });

  it("remembers nothing of runs that no caller waits for", () => {
    const watch = new RunWatch();
    watch.notify("a");
    const watching = watch.watch(["a"], NEVER_MS);
    expect(watch.count).toBe(1);
    watching.end();
  });

  it("has nothing to wait for without runs", async () => {
    const watch = new RunWatch();
    expect(await watch.watch([], NEVER_MS).settled).toBe(true);
    expect(watch.count).toBe(0);
  });

  it("releases every waiter when it closes, and accepts none after that", async () => {
    const watch = new RunWatch();
    const both = [watch.watch(["a"], NEVER_MS), watch.watch(["a", "b"], NEVER_MS)];
    watch.close();
    expect(await Promise.all(both.map(({ settled }) => settled))).toEqual([false, false]);
    const late = watch.watch(["a"], NEVER_MS);
    late.end();
    expect([await late.settled, watch.count]).toEqual([false, 0]);
  });
});
