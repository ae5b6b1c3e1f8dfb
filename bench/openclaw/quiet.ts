import { setTimeout } from "node:timers/promises";

const LOOK_MS = 100;

export interface QuietOptions {
  /** It is over when the count has not grown for this long. */
  readonly quietMs: number;
  /** It is over at this count. */
  readonly until: number;
}

export interface Counted {
  readonly count: number;
  /** From the call until the count grew last. */
  readonly lastAfterMs: number;
}

/** Looks at a count that grows, until it is as high as it should be or has long not grown. */
export async function untilQuiet(count: () => number, { quietMs, until }: QuietOptions): Promise<Counted> {
  const begunAt = performance.now();
  let seen = count();
  let grewAt = begunAt;
  while (seen < until && performance.now() - grewAt < quietMs) {
    await setTimeout(LOOK_MS);
    const now = count();
    if (now > seen) grewAt = performance.now();
    seen = now;
  }
  return { count: seen, lastAfterMs: grewAt - begunAt };
}
