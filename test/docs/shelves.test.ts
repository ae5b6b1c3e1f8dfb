import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDocPage } from "./doc-blocks.ts";

const docs = join(import.meta.dirname, "../../docs");
const SHELVES = ["start", "use", "operate", "extend"];
const index = readDocPage("docs/README.md").text;

describe("the shelves of the documentation", () => {
  it.each(SHELVES)("docs/%s: every page is in the index, once", (shelf) => {
    const pages = readdirSync(join(docs, shelf)).map((name) => `(${shelf}/${name})`);
    expect(pages.filter((page) => index.split(page).length !== 2)).toEqual([]);
  });

  it("hold every page but the index and the decisions", () => {
    const elsewhere = readdirSync(docs, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md") && path !== "README.md" && !path.startsWith("decisions/"))
      .filter((path) => !SHELVES.includes(path.split("/", 1)[0]!));
    expect(elsewhere).toEqual([]);
  });
});

describe("README.md", () => {
  it("has at most 120 lines, with a picture, the two commands and the first call", () => {
    const { text, blocks } = readDocPage("README.md");
    expect(text.split("\n").length).toBeLessThanOrEqual(120);
    const languages = blocks.map(({ language }) => language);
    expect(languages.slice(0, 2)).toEqual(["mermaid", "sh"]);
    expect(blocks[1]?.text).toBe("npm ci\nnpm start\n");
    expect(blocks.some(({ text: script }) => script.includes("/hooks/agent"))).toBe(true);
  });
});
