import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TransformSet } from "../../../src/transform/set.ts";
import { call, ConfigFolder, mapping } from "./config-folder.ts";
import type { FolderLoadOptions, NamedExport } from "./config-folder.ts";

/** A folder whose transforms run in processes of their own; they end with it. */
class SandboxedFolder extends ConfigFolder implements AsyncDisposable {
  readonly #sets = new Set<TransformSet>();

  async start(modules: readonly (string | NamedExport)[], options: FolderLoadOptions = {}): Promise<TransformSet> {
    const set = await this.load(modules, { isolation: "process", workers: 1, ...options });
    this.#sets.add(set);
    return set;
  }

  get copies(): string[] {
    const work = join(this.outer, "work");
    return existsSync(work) ? readdirSync(work) : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const set of this.#sets) await set.close();
    this[Symbol.dispose]();
  }
}

describe("transforms in processes", { timeout: 60_000 }, () => {
  it("spec 4.3: are called by the mapping that names them, with their imports and packages", async () => {
    await using folder = new SandboxedFolder({
      "a.ts": "import { b } from './b.mjs'; import c from 'c'; export default ({ payload }) => [b, c, payload.n];",
      "b.mjs": "export const b = 'b';",
      "node_modules/c/index.js": "module.exports = 'c';",
      "d.cjs": "module.exports = () => process.pid; module.exports.other = () => 'other';",
    });
    const set = await folder.start(["a.ts", "d.cjs", { module: "d.cjs", export: "other" }, "a.ts"]);
    expect(set.size).toBe(4);
    expect(await call(set.get("m0"), { n: 7 })).toEqual(["b", "c", 7]);
    expect(await call(set.get("m1"))).not.toBe(process.pid);
    expect(await call(set.get("m2"))).toBe("other");
    expect(await call(set.get("m3"), { n: 8 })).toEqual(["b", "c", 8]);
  });

  it("get packages by the conditions of an import, with a package.json in the folder and without one", async () => {
    const files = {
      "a.mjs": "import dual from 'dual'; import { only } from 'only/part'; export default () => [dual, only];",
      "node_modules/dual/package.json": '{ "exports": { "require": "./required.cjs", "import": "./imported.mjs" } }',
      "node_modules/dual/required.cjs": "module.exports = 'required';",
      "node_modules/dual/imported.mjs": "export default 'imported';",
      "node_modules/only/package.json": '{ "exports": { "./part": { "import": "./part.mjs" } } }',
      "node_modules/only/part.mjs": "export const only = 'only';",
    };
    const own: Readonly<Record<string, string>> = { ...files, "package.json": '{ "name": "own" }' };
    for (const all of [files, own]) {
      await using folder = new SandboxedFolder(all);
      const set = await folder.start(["a.mjs"]);
      expect(await call(set.get("m0"))).toEqual(["imported", "only"]);
    }
  });

  it("are refused with every mapping's own reason, file, line and column, and leave nothing behind", async () => {
    await using folder = new SandboxedFolder({
      "good.ts": "export default () => 1;",
      "syntax.ts": "\n\nconst a = ;",
      "throws.ts": "export const x = 1;\nthrow new TypeError('boom');",
    });
    const modules = ["good.ts", "syntax.ts", "gone.ts", "throws.ts", { module: "good.ts", export: "other" }];
    const at = (index: number): string => `hooks.mappings[${index}].transform.module: hooks/transforms/`;
    expect(await folder.refusal(modules, { isolation: "process", workers: 1 })).toEqual([
      `${at(1)}syntax.ts:3:11: Unexpected token`,
      `${at(2)}gone.ts: there is no such file`,
      `${at(3)}throws.ts:2:7: throws while it is loaded: TypeError: boom`,
      `${at(4)}good.ts exports nothing named "other"; it exports default`,
    ]);
    expect(folder.copies).toEqual([]);
  });

  it("name the module that does not finish loading", { timeout: 60_000 }, async () => {
    await using folder = new SandboxedFolder({ "good.ts": "export default () => 1;", "loops.ts": "for (;;);" });
    const [issue, ...more] = await folder.refusal(["good.ts", "loops.ts"], {
      isolation: "process",
      workers: 1,
      // The good one may be long about it on a machine that is busy.
      loadTimeoutMs: 6_000,
    });
    expect(issue).toMatch(/^hooks\.mappings\[1\]\.transform\.module: hooks\/transforms\/loops\.ts/);
    expect(more).toEqual([]);
  });

  it("refuse a folder with a link that leads out of it, whether a module uses it or not", async () => {
    await using folder = new SandboxedFolder({ "a.ts": "export default () => 1;" });
    folder.link("notes", "/etc/passwd");
    const [issue, ...more] = await folder.refusal(["a.ts"], { isolation: "process" });
    expect(issue).toMatch(/^hooks\.transformsDir: .*hooks\/transforms\/notes/);
    expect(more).toEqual([]);
  });

  it("see the folder as it was when they were loaded", async () => {
    await using folder = new SandboxedFolder({
      "a.ts": "export default async () => (await import('./b.ts')).value;",
      "b.ts": "export const value = 'old';",
    });
    const set = await folder.start(["a.ts"]);
    folder.write("b.ts", "export const value = 'new';");
    expect(await call(set.get("m0"))).toBe("old");
    expect(await set.isStale()).toBe(true);
    const next = await folder.start(["a.ts"], { previous: set });
    expect(next).not.toBe(set);
    expect(await call(next.get("m0"))).toBe("new");
    expect(await next.isStale()).toBe(false);
  });

  it("continue when nothing of them has changed", async () => {
    await using folder = new SandboxedFolder({ "a.ts": "export default () => process.pid;" });
    const set = await folder.start(["a.ts"]);
    const pid = await call(set.get("m0"));
    expect(await folder.start(["a.ts"], { previous: set })).toBe(set);
    expect(await call(set.get("m0"))).toBe(pid);
    expect(await folder.start(["a.ts"], { previous: set, timeoutMs: 1_999 })).not.toBe(set);
    expect(await folder.start([{ module: "a.ts", export: "default" }], { previous: set })).not.toBe(set);
  });

  it("are gone with their copy of the folder when they are closed", async () => {
    await using folder = new SandboxedFolder({ "a.ts": "export default () => 1;" });
    const set = await folder.start(["a.ts"]);
    expect(folder.copies).toHaveLength(1);
    await set.close();
    expect(folder.copies).toEqual([]);
    await expect(call(set.get("m0"))).rejects.toMatchObject({ kind: "busy" });
  });

  it("report the memory of their process", async () => {
    await using folder = new SandboxedFolder({ "a.ts": "export default () => 1;" });
    const set = await folder.start(["a.ts"]);
    await call(set.get("m0"));
    expect(set.figures().rssBytes).toBeGreaterThan(10_000_000);
  });

  it("are not loaded when the hooks are off or no mapping has one", async () => {
    await using folder = new SandboxedFolder({ "a.ts": "throw 1;" });
    expect((await folder.loadMappings([mapping(0)], { isolation: "process" })).size).toBe(0);
    expect(folder.copies).toEqual([]);
  });
});
