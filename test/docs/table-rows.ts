/**
 * The rows of the tables in a text, headings left out: each cell without its blanks, its escapes and the
 * backticks around the whole of it.
 */
export function tableRows(text: string): string[][] {
  const lines = text.split("\n");
  const isRule = (line: string | undefined): boolean => line !== undefined && /^\|[\s|:-]+\|$/.test(line);
  return lines
    .filter((line, at) => line.startsWith("|") && !isRule(line) && !isRule(lines[at + 1]))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map(readCell),
    );
}

function readCell(cell: string): string {
  const text = cell.trim().replaceAll("\\|", "|");
  return /^`[^`]*`$/.test(text) ? text.slice(1, -1) : text;
}
