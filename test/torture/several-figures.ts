import { type Fault, FAULTS, msOf, type SeveralResult } from "./several-gateways.ts";

/** Longer pauses than these are shown with the time at which they began and ended: 1 s after a kill, 6 s after the others. */
const AIMS_MS: Readonly<Record<Fault, number>> = { SIGKILL: 1_000, SIGSTOP: 6_000, cut: 6_000 };

/** The figures of a torture of several gateways as lines of text. */
export function severalFigures({ hits, pauses, usualMs, acknowledged, elsewhere }: SeveralResult): readonly string[] {
  const lines = FAULTS.map((fault) => {
    const own = pauses.filter((_, at) => hits[at]!.fault === fault).map(msOf);
    const sorted = own.toSorted((one, other) => one - other);
    const leads = hits.filter((hit) => hit.fault === fault && hit.isLead).length;
    const middle = Math.round(sorted[sorted.length >> 1] ?? 0);
    const longest = Math.round(sorted.at(-1) ?? 0);
    return `${fault.padEnd(25)} ${own.length}, ${leads} of them at the gateway with the runs; a session had no turn for ${longest} ms at most, ${middle} ms in the median`;
  });
  const long = pauses.flatMap((pause, at) => {
    const { fault } = hits[at]!;
    const { fromMs, toMs } = pause;
    if (msOf(pause) <= AIMS_MS[fault]) return [];
    return [`fault ${at + 1}, ${fault}: no turn from ${Math.round(fromMs)} to ${Math.round(toMs)} ms after it`];
  });
  return [
    ...lines,
    ...long,
    `without a fault           a session had no turn for ${Math.round(usualMs)} ms, or less in 99 of 100 waits`,
    `calls acknowledged        ${acknowledged}, ${elsewhere} tries at a gateway that did not take them`,
  ];
}
