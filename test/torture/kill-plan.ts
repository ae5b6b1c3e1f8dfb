import { FAULT_STEPS } from "./fault-steps.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** How one process is to die. */
export type PlannedKill =
  /** By itself, at a named step. */
  | { readonly kind: "step"; readonly point: string; readonly fault: string }
  /** By the harness, so long after it listens; or after it was started, when it may not even listen yet. */
  | { readonly kind: "time"; readonly after: "listening" | "start"; readonly afterMs: number };

/** Every fault point: `accept:during`, `settle:after` and so on. */
const FAULT_POINTS: readonly string[] = FAULT_STEPS.flatMap(({ name, moments }) =>
  moments.map((moment) => `${name}:${moment}`),
);

const RARE: ReadonlySet<string> = new Set(FAULT_STEPS.flatMap(({ name, rare }) => (rare ? [name] : [])));

/**
 * Plans kills: two of three at fault points, each of `points` once before any comes again, the others at
 * random times.
 */
export function planKills(
  count: number,
  { random, points = FAULT_POINTS }: { random: SeededRandom; points?: readonly string[] },
): PlannedKill[] {
  const plan: PlannedKill[] = [];
  let waiting: string[] = [];
  for (let kill = 0; kill < count; kill++) {
    if (kill % 3 === 0) {
      const after = kill % 4 === 0 ? "start" : "listening";
      plan.push({ kind: "time", after, afterMs: random.between(100, 3_000) });
      continue;
    }
    if (waiting.length === 0) waiting = random.shuffled(points);
    const point = waiting.pop()!;
    const step = point.slice(0, point.indexOf(":"));
    plan.push({ kind: "step", point, fault: `${point}:${random.between(1, RARE.has(step) ? 2 : 25)}` });
  }
  return plan;
}
