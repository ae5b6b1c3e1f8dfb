import { getHeapStatistics } from "node:v8";
import { afterEach, describe, expect, it } from "vitest";
import { IdleMemory } from "../../../src/cli/idle-memory.ts";

const WORTH_BYTES = 32 * 1_048_576;

describe("the memory that a burst has taken", () => {
  let memory: IdleMemory | undefined;

  afterEach(() => memory?.stop());

  /** Bytes that V8 holds without an object in them. */
  function spare(): number {
    const { total_physical_size: held, used_heap_size: used } = getHeapStatistics();
    return held - used;
  }

  /** Takes memory for young objects that live for a while, as those of calls do, until V8 holds much for them. */
  function burst(): void {
    const alive: object[][] = [];
    for (let round = 0; round < 20_000 && (round < 300 || spare() < 2 * WORTH_BYTES); round++) {
      alive[round % 60] = Array.from({ length: 2_000 }, (_, at) => ({ at, headers: { name: `n${at}` }, body: [at] }));
    }
  }

  it("is given back once the process is quiet", async () => {
    burst();
    expect(spare()).toBeGreaterThan(WORTH_BYTES);
    memory = new IdleMemory(20);
    await expect.poll(spare).toBeLessThan(WORTH_BYTES);
  });

  it("is kept while the process is at work", async () => {
    burst();
    memory = new IdleMemory(20);
    for (let turn = 0; turn < 5; turn++) {
      const until = performance.now() + 40;
      while (performance.now() < until);
      await new Promise(setImmediate);
    }
    expect(spare()).toBeGreaterThan(WORTH_BYTES);
  });
});
