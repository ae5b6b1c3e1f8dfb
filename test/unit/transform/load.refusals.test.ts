import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigFolder, call } from "./config-folder.ts";

describe("loadTransforms: what it refuses", () => {
  it("names every mapping whose module does not load, with file, line and column where known", async () => {
    using folder = new ConfigFolder({
      "good.ts": "export default () => 1;",
      "syntax.ts": "\n\nconst a = ;",
      "regexp.cjs": "\nmodule.exports = () => new RegExp(/a/u, 'g');\nvar x = 1; let x = 2;",
      "throws.ts":
        "import './good.ts';\n\nfunction fail(): never {\n  throw new TypeError('boom\\nsecond line');\n}\nfail();",
      "nested.ts": "\nimport './throws.ts';",
      "text.mjs": "throw 'a text';",
      "object.mjs": "throw { code: 7 };",
      "frozen.mjs":
        "const error = new Error('no stack'); delete error.stack; Object.defineProperty(error, 'stack', { value: 3 }); throw error;",
      "json.ts": "import data from './bad.json'; data();",
      "bad.json": "{ a }",
      "notes.txt": "",
      "imports-notes.ts": "\nimport notes from './notes.txt'; notes();",
      "requires-await.cjs": "require('./awaits.mjs');",
      "awaits.mjs": "\nexport const a = await 3;",
      "imports-folder.mjs": "import './folder';",
      "view.tsx": "export default () => 1;",
      "builtin.mjs": "import { readFileSync } from 'node:fs';\nreadFileSync('/nowhere/at/all');",
      "long.mjs": `throw new Error("${"x".repeat(1000)}");`,
      "names.ts": "export const other = 1; export const more = 2;",
      "number.ts": "export default 42; export const transform = () => 1;",
    });
    mkdirSync(join(folder.base, "folder"));
    const modules = [
      "syntax.ts",
      "good.ts",
      "regexp.cjs",
      "throws.ts",
      "nested.ts",
      "text.mjs",
      "object.mjs",
      "frozen.mjs",
      "json.ts",
      "imports-notes.ts",
      "requires-await.cjs",
      "view.tsx",
      "builtin.mjs",
      "missing.ts",
      "folder",
      "imports-folder.mjs",
      "names.ts",
      "number.ts",
      { module: "good.ts", export: "transform" },
      "../outside.ts",
      "/etc/passwd",
    ];
    const at = (index: number): string => `hooks.mappings[${index}].transform.module: `;
    const inside = "a transform is a file inside of hooks/transforms";
    expect(await folder.refusal(modules)).toEqual([
      `${at(0)}hooks/transforms/syntax.ts:3:11: Unexpected token`,
      `${at(2)}hooks/transforms/regexp.cjs:3:16: Identifier 'x' has already been declared.`,
      `${at(3)}hooks/transforms/throws.ts:4:9: throws while it is loaded: TypeError: boom`,
      `${at(4)}hooks/transforms/throws.ts:4:9: throws while it is loaded: TypeError: boom (loaded by hooks/transforms/nested.ts)`,
      `${at(5)}hooks/transforms/text.mjs: throws while it is loaded: 'a text'`,
      `${at(6)}hooks/transforms/object.mjs: throws while it is loaded: { code: 7 }`,
      `${at(7)}hooks/transforms/frozen.mjs: throws while it is loaded: Error: no stack`,
      `${at(8)}hooks/transforms/bad.json: Expected property name or '}' in JSON at position 2 (line 1 column 3) (loaded by hooks/transforms/json.ts)`,
      `${at(9)}hooks/transforms/imports-notes.ts:2:1: .txt files are not loaded; write one of .js .mjs .cjs .ts .mts .cts`,
      `${at(10)}hooks/transforms/awaits.mjs:2:18: await is only valid in async functions and the top level bodies of modules (loaded by hooks/transforms/requires-await.cjs)`,
      `${at(11)}hooks/transforms/view.tsx: .tsx files are not loaded; write one of .js .mjs .cjs .ts .mts .cts`,
      `${at(12)}hooks/transforms/builtin.mjs:2:13: throws while it is loaded: Error: ENOENT: no such file or directory, open '/nowhere/at/all'`,
      `${at(13)}hooks/transforms/missing.ts: there is no such file`,
      `${at(14)}hooks/transforms/folder: there is no such file`,
      `${at(15)}hooks/transforms/imports-folder.mjs:1:1: cannot import "./folder": there is no such file`,
      `${at(16)}hooks/transforms/names.ts exports neither "default" nor "transform"; it exports more, other`,
      `${at(17)}hooks/transforms/number.ts exports "default", which is not a function`,
      `${at(18)}hooks/transforms/good.ts exports nothing named "transform"; it exports default`,
      `${at(19)}"../outside.ts" lies outside; ${inside}`,
      `${at(20)}"/etc/passwd" lies outside; ${inside}`,
    ]);
    const [long = ""] = await folder.refusal(["long.mjs"]);
    expect(long).toMatch(/Error: x{293}\.\.\.$/);
  });

  it("refuses a module whose export cannot be read", async () => {
    using folder = new ConfigFolder({
      "a.cjs": "Object.defineProperty(exports, 'default', { get() { return require('./gone'); } });",
    });
    expect(await folder.refusal(["a.cjs"])).toEqual([
      'hooks.mappings[0].transform.module: hooks/transforms/a.cjs:1:60: cannot import "./gone": there is no such file',
    ]);
  });

  it("gives file, line and column of what a call throws", async () => {
    using folder = new ConfigFolder({
      "a.ts": "type A = 1;\n\nexport default () => {\n  throw new Error('at call time');\n};",
    });
    const transforms = await folder.load(["a.ts"]);
    await expect(call(transforms.get("m0"))).rejects.toThrow("threw Error: at call time (hooks/transforms/a.ts:4:9)");
  });

  it("loads a module that fails once, however many mappings name it", async () => {
    using folder = new ConfigFolder({
      "a.mjs": "globalThis.timesLoaded = (globalThis.timesLoaded ?? 0) + 1; throw 1;",
    });
    expect(await folder.refusal(["a.mjs", "./a.mjs"])).toHaveLength(2);
    expect(Reflect.get(globalThis, "timesLoaded")).toBe(1);
    Reflect.deleteProperty(globalThis, "timesLoaded");
  });

  it("refuses a module that does not finish loading, and continues with the others", async () => {
    using folder = new ConfigFolder({ "hangs.mjs": "await new Promise(() => {});", "bad.mjs": "throw 1;" });
    expect(await folder.refusal(["hangs.mjs", "bad.mjs"], { loadTimeoutMs: 50 })).toEqual([
      "hooks.mappings[0].transform.module: hooks/transforms/hangs.mjs: has not finished loading after 50 ms; look at its top-level awaits",
      "hooks.mappings[1].transform.module: hooks/transforms/bad.mjs: throws while it is loaded: 1",
    ]);
  });

  it("is not disturbed by a module that fails after it was given up", async () => {
    using folder = new ConfigFolder({
      "late.mjs": "await new Promise((resolve) => { globalThis.goOn = resolve; }); throw new Error('late');",
    });
    expect(await folder.refusal(["late.mjs"], { loadTimeoutMs: 20 })).toHaveLength(1);
    const goOn: unknown = Reflect.get(globalThis, "goOn");
    if (typeof goOn === "function") goOn();
    // An unhandled rejection would be reported by now and fail this run.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(Reflect.deleteProperty(globalThis, "goOn")).toBe(true);
  });

  it("spec 2.1: refuses a transformsDir outside of hooks/transforms below the config folder", async () => {
    using folder = new ConfigFolder({ "a.ts": "export default () => 1;" });
    folder.transformsDir = join(folder.configDir, "hooks");
    const must = "it has to be hooks/transforms in the config folder or a folder in that";
    expect(await folder.refusal(["a.ts"])).toEqual([
      `hooks.transformsDir: ${folder.transformsDir} lies outside; ${must}`,
    ]);
    expect(await folder.refusal([])).toHaveLength(1);

    mkdirSync(join(folder.outer, "elsewhere"));
    folder.link("out", join(folder.outer, "elsewhere"));
    folder.transformsDir = join(folder.base, "out");
    expect(await folder.refusal([])).toEqual([
      `hooks.transformsDir: ${folder.transformsDir} leads outside by a link; ${must}`,
    ]);
  });
});
