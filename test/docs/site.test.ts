import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDocPages } from "./doc-blocks.ts";

const config = readFileSync(join(import.meta.dirname, "../../scripts/site/.vitepress/config.ts"), "utf8");

/** Its build fails for a page that Vue cannot read or a dead link; what it cannot see is what it leaves out. */
describe("the site of the pages", () => {
  it("leaves unchecked only links to files of the repository that the site does not have", () => {
    const [, begin = ""] = /\(\?:(src\|[^)]*)\)/u.exec(config) ?? [];
    expect(begin.split("|")).not.toContain("docs");
    const outside = readDocPages()
      .filter(({ path }) => path.startsWith("docs/"))
      .flatMap(({ text }) => Array.from(text.matchAll(/\]\(((?:\.\.\/)+)([\w.]+)/gu), ([, , name]) => name!));
    const shelves = ["start", "use", "operate", "extend", "decisions", "images", "grafana"];
    const left = new Set(outside.filter((name) => !shelves.includes(name)));
    for (const name of left) expect(begin.split("|")).toContain(name.replace(/\.md$/u, ""));
  });

  it("has every page in its sidebar, by the index, and a search without a server", () => {
    expect(config).toContain('readFileSync(resolve(docs, "README.md"), "utf8")');
    expect(config).toContain('search: { provider: "local" }');
  });
});
