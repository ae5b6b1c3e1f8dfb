import { FAULTS, type SeveralResult } from "./several-gateways.ts";

/** The figures of a torture of several gateways as lines of text. */
export function severalFigures({ hits, pausesMs, usualMs, acknowledged, elsewhere }: SeveralResult): readonly string[] {
  const lines = FAULTS.map((fault) => {
    const pauses = pausesMs.filter((_, at) => hits[at]!.fault === fault).toSorted((one, other) => one - other);
    const leads = hits.filter((hit) => hit.fault === fault && hit.isLead).length;
    const middle = Math.round(pauses[pauses.length >> 1] ?? 0);
    const longest = Math.round(pauses.at(-1) ?? 0);
    return `${fault.padEnd(25)} ${pauses.length}, ${leads} of them at the gateway with the runs; a session had no turn for ${longest} ms at most, ${middle} ms in the median`;
  });
  return [
    ...lines,
    `without a fault           a session had no turn for ${Math.round(usualMs)} ms, or less in 99 of 100 waits`,
    `calls acknowledged        ${acknowledged}, ${elsewhere} tries at a gateway that did not take them`,
  ];
}
