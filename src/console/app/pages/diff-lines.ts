export interface DiffLine {
  readonly text: string;
  readonly side: "both" | "before" | "after";
}

/** Lines of a prompt that are compared; the cost grows with the square. */
const MAX_LINES = 1_000;

/** The lines of two texts by their longest common subsequence; lines over a bound count as changed. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split("\n", MAX_LINES);
  const fresh = after.split("\n", MAX_LINES);
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
