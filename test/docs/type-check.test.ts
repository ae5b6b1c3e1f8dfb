import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readDocPages } from "./doc-blocks.ts";

const root = join(import.meta.dirname, "../..");
const blocks = readDocPages().flatMap((page) => page.blocks.filter(({ language }) => language === "ts"));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-types-"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const { file = "", text } of blocks) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const options = {
    paths: {
      reveille: [join(root, "src/index.ts")],
      "reveille/testing": [join(root, "src/testing/describe-preset.ts")],
    },
    // A page may show a file that lies in the repository.
    rootDirs: [folder, root],
    typeRoots: [join(root, "node_modules/@types")],
  };
  const files = blocks.map(({ file }) => file);
  const config = { extends: join(root, "tsconfig.json"), compilerOptions: options, files, include: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it("every module of the pages has its types right, by the project's own settings", () => {
  expect(blocks.length).toBeGreaterThan(0);
  expect(new Set(blocks.map(({ file }) => file)).size).toBe(blocks.length);
  const { stdout, status } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
  expect(stdout).toBe("");
  expect(status).toBe(0);
});
