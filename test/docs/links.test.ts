import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDocPages } from "./doc-blocks.ts";

const root = join(import.meta.dirname, "../..");
const pages = readDocPages();

describe.each(pages)("links of $path", ({ path, text }) => {
  const links = Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!);
  const local = links.filter((target) => !/^https?:/.test(target));

  it("lead to files that exist, and to headings that these have", () => {
    for (const link of local) {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : join(dirname(path), file);
      expect(existsSync(join(root, target)), `${path} -> ${link}`).toBe(true);
      if (anchor === undefined) continue;
      const page = pages.find((other) => other.path === target);
      expect(anchorsOf(page?.text ?? ""), `${path} -> ${link}`).toContain(anchor);
    }
  });
});

/** The anchors that GitHub gives to headings. */
function anchorsOf(text: string): string[] {
  const headings = Array.from(text.matchAll(/^#{1,6} (.+)$/gm), ([, heading]) => heading!);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
