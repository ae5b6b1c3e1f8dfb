import { expect, it } from "vitest";
import { createIngressHooks } from "../../src/ingress/hooks.ts";
import { readDocPage } from "./doc-blocks.ts";
import { tableRows } from "./table-rows.ts";

it("docs/extend/writing-a-plugin.md has a row for every hook, in the order of src/ingress/hooks.ts", () => {
  const [, section = ""] = readDocPage("docs/extend/writing-a-plugin.md").text.split("\n## The hooks\n");
  expect(tableRows(section).map(([name]) => name)).toEqual(Object.keys(createIngressHooks()));
});
