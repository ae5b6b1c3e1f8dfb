export interface DiffLine {
  readonly text: string;
  readonly side: "both" | "before" | "after";
}

/** Lines that are compared with each other; the cost grows with the square. */
const MAX_LINES = 1_000;

/**
 * The lines of two texts by their longest common subsequence, between those that begin and end both; of these, lines
 * over a bound count as changed.
 */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const old = before.split("\n");
  const fresh = after.split("\n");
  const most = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < most && old[start] === fresh[start]) start++;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === fresh.at(-1 - end)) end++;
  const of = (side: DiffLine["side"], lines: readonly string[]): DiffLine[] => lines.map((text) => ({ text, side }));
  const oldPart = old.slice(start, old.length - end);
  const freshPart = fresh.slice(start, fresh.length - end);
  return [
    ...of("both", old.slice(0, start)),
    ...compared(oldPart.slice(0, MAX_LINES), freshPart.slice(0, MAX_LINES)),
    ...of("before", oldPart.slice(MAX_LINES)),
    ...of("after", freshPart.slice(MAX_LINES)),
    ...of("both", old.slice(old.length - end)),
  ];
}

function compared(old: readonly string[], fresh: readonly string[]): DiffLine[] {
  const width = fresh.length + 1;
  const longest = new Uint16Array((old.length + 1) * width);
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = fresh.length - 1; b >= 0; b--) {
      longest[a * width + b] =
        old[a] === fresh[b]
          ? longest[(a + 1) * width + b + 1]! + 1
          : Math.max(longest[(a + 1) * width + b]!, longest[a * width + b + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let a = 0;
  let b = 0;
  while (a < old.length || b < fresh.length) {
    if (a < old.length && b < fresh.length && old[a] === fresh[b]) {
      lines.push({ text: old[a]!, side: "both" });
      a++;
      b++;
    } else if (b >= fresh.length || (a < old.length && longest[(a + 1) * width + b]! >= longest[a * width + b + 1]!)) {
      lines.push({ text: old[a++]!, side: "before" });
    } else {
      lines.push({ text: fresh[b++]!, side: "after" });
    }
  }
  return lines;
}
