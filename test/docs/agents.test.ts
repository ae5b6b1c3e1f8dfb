import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "AGENTS.md"), "utf8");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

describe("AGENTS.md", () => {
  it("has at most 100 lines", () => {
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(100);
  });

  it("names only files and folders that exist", () => {
    const named = Array.from(text.matchAll(/`((?:src|test|docs|scripts|bench)\/[\w./-]+)`/g), ([, path]) => path!);
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("has a row for every folder of src/", () => {
    const folders = globSync("src/*/", { cwd: root }).map(
      (path) => `${path.replaceAll("\\", "/").replace(/\/$/, "")}/`,
    );
    expect(folders.filter((folder) => !text.includes(`\`${folder}\``))).toEqual([]);
  });

  it("names only commands of package.json", () => {
    const named = Array.from(text.matchAll(/`npm (?:run )?([\w:]+)`/g), ([, name]) => name!);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
