import Table from "cli-table3";

/** Two blanks between columns and no lines, so that a cell can be marked and pasted, and a row be cut. */
const PLAIN = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

/** Rows under a head as text, each line ended; cells must be printable. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: PLAIN,
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
  });
  table.push([...head], ...rows.map((row) => [...row]));
  const lines = table.toString().split("\n");
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}
