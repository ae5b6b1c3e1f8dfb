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
