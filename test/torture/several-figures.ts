import { FAULTS, type SeveralResult } from "./several-gateways.ts";

/** The figures of a torture of several gateways as lines of text. */
export function severalFigures({ hits, acknowledged, elsewhere }: SeveralResult): readonly string[] {
  const lines = FAULTS.map((fault) => {
    const of = hits.filter((hit) => hit.fault === fault);
    const begun = of.flatMap(({ begunMs }) => begunMs ?? []);
    const longest = begun.length === 0 ? "" : `, the next run after ${Math.round(Math.max(...begun))} ms at most`;
    return `${fault.padEnd(25)} ${of.length}, ${begun.length} of them at the gateway with the runs${longest}`;
  });
  return [
    ...lines,
    `calls acknowledged        ${acknowledged}, ${elsewhere} tries at a gateway that did not take them`,
  ];
}
