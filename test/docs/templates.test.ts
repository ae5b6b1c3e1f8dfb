import { describe, expect, it } from "vitest";
import { compileTemplate } from "../../src/mapping/template.ts";
import { readDocPage } from "./doc-blocks.ts";
import { tableRows } from "./table-rows.ts";

const { text, blocks } = readDocPage("docs/use/mappings.md");
const payload: unknown = JSON.parse(blocks.find(({ file }) => file === "payload.json")!.text);
const [, table = ""] = /\| template \| prints \|\n([^]*?)\n\n/.exec(text) ?? [];

describe("the templates in docs/use/mappings.md", () => {
  const rows = tableRows(`| template | prints |\n${table}`);

  it.each(rows)("%s prints %s", (template = "", prints = "") => {
    const shown = prints.startsWith("nothing") ? "" : prints;
    const context = { payload, headers: {}, query: {}, path: "ci/build", now: new Date() };
    expect(compileTemplate(template).render(context)).toBe(shown);
  });

  it("are those of the whole table", () => {
    expect(rows.length).toBeGreaterThan(25);
  });
});
