import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");
const checker = join(root, "scripts/check-imports.ts");

describe("import direction", () => {
  let tree: string;

  beforeEach(() => {
    tree = mkdtempSync(join(tmpdir(), "import-direction-"));
  });

  afterEach(() => {
    rmSync(tree, { recursive: true, force: true });
  });

  /** Writes a source tree (path below src -> text) and gives its violations as "rule: from -> to". */
  function violationsOf(files: Readonly<Record<string, string>>): string[] {
    writeFileSync(join(tree, "package.json"), JSON.stringify({ type: "module" }));
    for (const [path, text] of Object.entries(files)) {
      const file = join(tree, "src", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    const run = spawnSync(process.execPath, [checker], { cwd: tree, encoding: "utf8" });
    const violations = run.stderr.split("\n").filter((line) => /^[^ ]/.test(line));
    expect(run.status).toBe(violations.length === 0 ? 0 : 1);
    return violations.toSorted();
  }

  const empty = "export const value = 1;\nexport interface Shape {\n  readonly size: number;\n}\n";

  it.each([
    ["a value import", 'import { value } from "../cli/main.ts";\nexport const copy: number = value;\n'],
    ["a type import", 'import type { Shape } from "../cli/main.ts";\nexport type Copy = Shape;\n'],
    ["an inline type import", 'import type { Shape } from "../cli/main.ts";\nexport type Copy = Shape;\n'],
    ["a re-export", 'export { value } from "../cli/main.ts";\n'],
    ["a type re-export", 'export type { Shape } from "../cli/main.ts";\n'],
    ["a dynamic import", 'export const load = async (): Promise<unknown> => await import("../cli/main.ts");\n'],
  ])("refuses %s from a lower layer to a higher one", (_kind, text) => {
    expect(violationsOf({ "cli/main.ts": empty, "storage/accept.ts": text })).toEqual([
      "direction-of-storage: src/storage/accept.ts -> src/cli/main.ts",
    ]);
  });

  it("refuses an import between siblings", () => {
    const violations = violationsOf({
      "mapping/compile.ts": empty,
      "dispatch/lanes.ts": 'export { value } from "../mapping/compile.ts";\n',
      "policy/budget.ts": 'export { value } from "../mapping/compile.ts";\n',
    });
    expect(violations).toEqual(["direction-of-policy: src/policy/budget.ts -> src/mapping/compile.ts"]);
  });

  it("refuses what the embedded gateway takes past the public API", () => {
    const violations = violationsOf({
      "index.ts": empty,
      "dispatch/lanes.ts": empty,
      "hosts/embedded/server.ts":
        'export { value } from "../../index.ts";\nexport { type Shape } from "../../dispatch/lanes.ts";\n',
    });
    expect(violations).toEqual(["direction-of-hosts/embedded: src/hosts/embedded/server.ts -> src/dispatch/lanes.ts"]);
  });

  it("refuses the SQLite writer outside the storage and the hosts", () => {
    const violations = violationsOf({
      "core/errors.ts": empty,
      "storage/sqlite/engine/writer.ts": 'export { value } from "../../../core/errors.ts";\n',
      "storage/sqlite/open.ts": 'export { value } from "./engine/writer.ts";\n',
      "auth/load.ts": 'export { value } from "../storage/sqlite/engine/writer.ts";\n',
    });
    expect(violations).toEqual([
      "reserved-storage/sqlite/engine: src/auth/load.ts -> src/storage/sqlite/engine/writer.ts",
    ]);
  });

  it("refuses the OpenClaw SDK outside its own adapter", () => {
    const violations = violationsOf({
      "hosts/openclaw/host.ts": 'export * from "openclaw/plugin-sdk";\n',
      "hosts/embedded/host.ts": 'export * from "openclaw/plugin-sdk";\n',
    });
    expect(violations).toEqual(["reserved-package-openclaw: src/hosts/embedded/host.ts -> openclaw/plugin-sdk"]);
  });

  it("refuses a cycle, also of types alone", () => {
    const violations = violationsOf({
      "storage/first.ts": 'import type { Second } from "./second.ts";\nexport type First = Second | 1;\n',
      "storage/second.ts": 'import type { First } from "./first.ts";\nexport type Second = First | 2;\n',
    });
    expect(violations).toEqual(["no-cycle: src/storage/first.ts -> src/storage/second.ts -> src/storage/first.ts"]);
  });

  it("refuses a module that has no place in the list of layers", () => {
    const violations = violationsOf({
      "core/errors.ts": empty,
      "misc/odds.ts": 'export { value } from "../core/errors.ts";\n',
    });
    expect(violations).toEqual(["unknown-importer: src/misc/odds.ts -> src/core/errors.ts"]);
  });

  it("refuses an import of what is not shipped, and one of a file that does not exist", () => {
    const violations = violationsOf({
      "core/errors.ts": 'export { value } from "../../test/value.ts";\nexport { other } from "./other.ts";\n',
    });
    expect(violations).toEqual([
      "inside-src: src/core/errors.ts -> test/value.ts",
      "resolvable: src/core/errors.ts -> src/core/other.ts",
      "resolvable: src/core/errors.ts -> test/value.ts",
    ]);
  });

  it("refuses a file that it cannot parse", () => {
    expect(violationsOf({ "core/errors.ts": "export {" }).join("\n")).toContain("src/core/errors.ts cannot be parsed");
  });

  it("accepts imports that go downward", () => {
    const violations = violationsOf({
      "cli/main.ts": 'export { value } from "../hosts/embedded/server.ts";\n',
      "hosts/embedded/server.ts": 'export { value } from "../shared/load.ts";\n',
      "hosts/shared/load.ts": 'export { value } from "../../api/router.ts";\n',
      "api/router.ts": 'export { value } from "../index.ts";\n',
      "index.ts": 'export { value } from "./ingress/plugin.ts";\n',
      "ingress/plugin.ts": 'export { value } from "../dispatch/lanes.ts";\n',
      "dispatch/lanes.ts": 'export { value } from "../mapping/compile.ts";\n',
      "mapping/compile.ts": 'export { value } from "../presets/load.ts";\n',
      "presets/load.ts": 'export { value } from "../auth/token.ts";\n',
      "auth/token.ts": 'export { value } from "../http/answer.ts";\n',
      "http/answer.ts": 'export { value } from "../core/errors.ts";\n',
      "core/errors.ts": empty,
    });
    expect(violations).toEqual([]);
  });
});
