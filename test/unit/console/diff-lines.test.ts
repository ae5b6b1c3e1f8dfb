import { expect, it } from "vitest";
import { diffLines } from "../../../src/console/app/pages/diff-lines.ts";

function written(before: string, after: string): string[] {
  const signs = { both: " ", before: "-", after: "+" };
  return diffLines(before, after).map(({ text, side }) => `${signs[side]}${text}`);
}

it("marks the lines that only one of two texts has", () => {
  expect(written("a\nb\nc", "a\nx\nc\nd")).toEqual([" a", "-b", "+x", " c", "+d"]);
  expect(written("a", "a")).toEqual([" a"]);
  expect(written("", "a")).toEqual(["-", "+a"]);
});

it("finds a change after many lines, and loses none of them", () => {
  const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at}`);
  const changed = lines.with(2_500, "another");
  const found = diffLines(lines.join("\n"), changed.join("\n"));
  expect(found.filter(({ side }) => side !== "both")).toEqual([
    { text: "line 2500", side: "before" },
    { text: "another", side: "after" },
  ]);
  expect(found).toHaveLength(3_001);
  const others = diffLines(lines.join("\n"), lines.map((line) => `new ${line}`).join("\n"));
  expect(others.filter(({ side }) => side === "after")).toHaveLength(3_000);
});
