import { LEVELS } from "../core/delivery.ts";
import type { ExposureVerdict } from "../core/exposure.ts";
import type { ExposureRow } from "../config/rule-of-two.ts";
import { textTable } from "./text-table.ts";

const VERDICTS = {
  two: "at most two",
  asked: "a person is in between",
  accepted: "all three, accepted",
  refused: "all three",
  unknown: "not known",
} as const satisfies Record<ExposureVerdict, string>;

/** The table of the Rule of Two: one line for each mapping and the levels that share their rights. */
export function exposureLines(rows: readonly ExposureRow[]): readonly string[] {
  if (rows.length === 0) return [];
  const head = ["RUNS OF", "LEVELS", "AGENT", "READS OTHERS", "PRIVATE DATA", "OUTWARD", "RULE OF TWO"];
  return ["", ...textTable(head, rows.map(cellsOf)).trimEnd().split("\n"), ""];
}

function cellsOf(row: ExposureRow): string[] {
  const { mappingId, route, levels, agentId, reads, private: reached, outward, human, verdict } = row;
  const has = (parts: readonly string[]): string =>
    parts.length > 0 ? "yes" : verdict === "unknown" ? "not known" : "no";
  return [
    mappingId ?? `direct /${route ?? ""}`,
    levels.length === LEVELS.length ? "all" : levels.join(", "),
    agentId,
    has(reads),
    reads.length === 0 ? "" : has(reached),
    reads.length === 0 ? "" : has(outward),
    human === null ? VERDICTS[verdict] : `${VERDICTS[verdict]}: ${human}`,
  ];
}
