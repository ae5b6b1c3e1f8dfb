import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const sources = globSync("{src,test,scripts,bench,docs}/**/*.{ts,tsx,md}", {
  cwd: root,
  exclude: ["**/node_modules/**"],
});

/** Files that a command or the reader makes. */
const MADE = new Set(["bench/HISTORY.md", "test/conformance/host/my-gateway.test.ts"]);
const CITED = /(?<![\w./-])(?:src|test|docs|bench|scripts)\/[\w./-]+\.(?:tsx?|md|mjs)(?!\w)/gu;
const LINKED = /\{@link "(?<file>\.[^"]+)"/gu;

/** The lines of comments, or all lines of a page. */
function proseOf(file: string): string {
  const text = readFileSync(join(root, file), "utf8");
  if (file.endsWith(".md")) return text;
  return text
    .split("\n")
    .filter((line) => /^\s*(?:\/\*\*|\*|\/\/)/u.test(line))
    .join("\n");
}

describe("comments and pages", () => {
  it("cite files that are in the repository", () => {
    const missing = sources.flatMap((file) => {
      const prose = proseOf(file);
      const cited = Array.from(prose.matchAll(CITED), ([path]) => path);
      const linked = Array.from(prose.matchAll(LINKED), ({ groups }) => join(dirname(file), `${groups!["file"]}.ts`));
      return [...cited, ...linked]
        .filter((path) => !MADE.has(path) && !existsSync(join(root, path)))
        .map((path) => `${file}: ${path}`);
    });
    expect(missing).toEqual([]);
  });
});
