import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigFolder, call, mapping } from "./config-folder.ts";

const double = "export default (ctx) => ctx.payload.n * 2;";

describe("loadTransforms: what it loads", () => {
  it("spec 4.3: loads a TypeScript module without a compiler's help, its types unchecked", async () => {
    using folder = new ConfigFolder({
      "a.ts": `
        import type { Missing } from "./nowhere.ts";
        enum Kind { Push = "push" }
        const wrong: number = "text";
        class Box<T> { constructor(public readonly value: T) {} }
        export default ({ payload }: { payload: { n: number } }): Missing | string =>
          [Kind.Push, wrong, new Box(payload.n satisfies number).value].join();`,
    });
    expect(await folder.run("a.ts", { n: 4 })).toBe("push,text,4");
  });

  it.each(["a.js", "a.mjs", "a.ts", "a.mts"])("spec 2.1: loads an ES module, %s", async (file) => {
    using folder = new ConfigFolder({ [file]: double });
    expect(await folder.run(file, { n: 2 })).toBe(4);
  });

  it.each(["a.js", "a.cjs", "a.cts"])("spec 2.1: loads a CommonJS module, %s", async (file) => {
    using folder = new ConfigFolder({ [file]: "#!/usr/bin/env node\nmodule.exports = (ctx) => ctx.payload.n * 2;" });
    expect(await folder.run(file, { n: 2 })).toBe(4);
  });

  it("runs CommonJS as Node does: sloppy, with a return, this and its own path", async () => {
    using folder = new ConfigFolder({
      "a.cjs": `
        sloppyName = "sloppy";
        const seen = [sloppyName, __filename === module.filename, __dirname, require.main === module];
        delete globalThis.sloppyName;
        this.transform = () => seen;
        if (exports.transform) return;
        throw new Error("not reached");`,
    });
    expect(await folder.run("a.cjs")).toEqual(["sloppy", true, folder.base, false]);
  });

  it("loads modules that await at their top level", async () => {
    using folder = new ConfigFolder({
      "a.mjs": "import { n } from './late.ts'; const m = await Promise.resolve(1); export default () => n + m;",
      "late.ts": "export const n: number = await new Promise((resolve) => setTimeout(resolve, 5, 41));",
    });
    expect(await folder.run("a.mjs")).toBe(42);
  });

  it("lets kinds of module import each other, JSON and builtins", async () => {
    using folder = new ConfigFolder({
      "a.ts": `
        import { readFileSync } from "node:fs";
        import path from "path";
        import common, { named } from "./lib/common.cjs";
        import * as all from "./lib/named.mjs";
        import settings from "./settings.json" with { type: "json" };
        export * from "./lib/named.mjs";
        export default () => [typeof readFileSync, path.sep, common(), named, all.word, settings.limit];`,
      "lib/common.cjs": `
        module.exports = () => [require("./named").word, require("../settings").limit, require("fs") === require("node:fs")];
        module.exports.named = "named";`,
      "lib/named.mjs": "export const word = 'word';",
      "settings.json": '\uFEFF{ "limit": 7 }',
    });
    expect(await folder.run("a.ts")).toEqual(["function", "/", ["word", 7, true], "named", "word", 7]);
    expect(await folder.refusal([{ module: "a.ts", export: "word" }])).toEqual([
      'hooks.mappings[0].transform.module: hooks/transforms/a.ts exports "word", which is not a function',
    ]);
  });

  it("resolves as TypeScript and Node are used to: without an extension, .js for .ts, index files", async () => {
    using folder = new ConfigFolder({
      "a.ts":
        "import { b } from './b'; import { c } from './c.js'; import { d } from './d'; export default () => b + c + d;",
      "b.ts": "export const b = 'b';",
      "c.ts": "export const c = 'c';",
      "d/index.ts": "export const d = 'd';",
    });
    expect(await folder.run("a.ts")).toBe("bcd");
  });

  it("loads packages of the folder's own node_modules by their conditions", async () => {
    using folder = new ConfigFolder({
      "a.mjs": "import { by } from 'pkg'; import plain from 'plain'; export default () => [by, plain];",
      "a.cjs": "module.exports = () => [require('pkg').by, require.resolve('fs'), require.resolve('./a')];",
      "node_modules/pkg/package.json": '{ "name": "pkg", "exports": { "import": "./i.mjs", "require": "./r.cjs" } }',
      "node_modules/pkg/i.mjs": "export const by = 'import';",
      "node_modules/pkg/r.cjs": "exports.by = 'require';",
      "node_modules/plain/package.json": '{ "name": "plain", "main": "main" }',
      "node_modules/plain/main.js":
        "try { require('optional'); } catch (error) { module.exports = error.code + require('./bin/tool'); }",
      "node_modules/plain/bin/tool": "#!/usr/bin/env node\nmodule.exports = ' tool';",
    });
    expect(await folder.run("a.mjs")).toEqual(["import", "MODULE_NOT_FOUND tool"]);
    expect(await folder.run("a.cjs")).toEqual(["require", "fs", join(folder.base, "a.mjs")]);
  });

  it("imports at call time, and gives a module its location", async () => {
    using folder = new ConfigFolder({
      "a.ts": `
        export default async ({ payload }) => {
          const { value } = await import(payload.name);
          const again = await import(new URL("./later.ts", import.meta.url));
          return [value, again.value === value, import.meta.filename, import.meta.resolve("./later.ts"), import.meta.resolve("fs"), import.meta.resolve("node:fs")];
        };`,
      "later.ts": "export const value = {};",
    });
    const file = join(folder.base, "a.ts");
    const url = `file://${join(folder.base, "later.ts")}`;
    expect(await folder.run("a.ts", { name: "./later.ts" })).toEqual([{}, true, file, url, "node:fs", "node:fs"]);
  });

  it("shares one instance of a module between mappings that name different exports of it", async () => {
    using folder = new ConfigFolder({
      "a.ts": "let calls = 0; export const one = () => ++calls; export function two() { return ++calls; }",
    });
    const transforms = await folder.load([
      { module: "a.ts", export: "one" },
      { module: "./a.ts", export: "two" },
    ]);
    expect(await call(transforms.get("m0"))).toBe(1);
    expect(await call(transforms.get("m1"))).toBe(2);
  });

  it("shares one instance of a module between the modules that import it", async () => {
    using folder = new ConfigFolder({
      "a.mjs": "import { next } from './state.ts'; export default next;",
      "b.cjs": "module.exports = require('./state').next;",
      "state.ts": "let calls = 0; export const next = () => ++calls;",
    });
    const transforms = await folder.load(["a.mjs", "b.cjs"]);
    expect([await call(transforms.get("m0")), await call(transforms.get("m1"))]).toEqual([1, 2]);
  });

  it("leaves out mappings without a transform", async () => {
    using folder = new ConfigFolder({ "a.ts": double });
    const transforms = await folder.loadMappings([mapping(0), mapping(1, { module: "a.ts" })]);
    expect([transforms.size, transforms.get("m0")]).toEqual([1, undefined]);
    expect(await call(transforms.get("m1"), { n: 2 })).toBe(4);
  });

  it("needs no folder when no mapping has a transform", async () => {
    using folder = new ConfigFolder();
    expect((await folder.loadMappings([mapping(0)])).size).toBe(0);
    expect((await folder.loadMappings([mapping(0)], { isolation: "process" })).size).toBe(0);
  });
});

describe("loadTransforms: modules that need each other", () => {
  it("loads ES modules that import each other, or themselves", async () => {
    using folder = new ConfigFolder({
      "a.ts": `
        import { isOdd } from "./b.ts";
        export function isEven(n: number): boolean { return n === 0 || isOdd(n - 1); }
        export default ({ payload }) => isEven(payload.n);`,
      "b.ts": `
        import { isEven } from "./c.ts";
        export const isOdd = (n: number): boolean => n !== 0 && isEven(n - 1);`,
      "c.ts": "export { isEven } from './a.ts';",
      "self.mjs": "import * as self from './self.mjs'; export const n = 5; export default () => self.n;",
    });
    expect(await folder.run("a.ts", { n: 10 })).toBe(true);
    expect(await folder.run("self.mjs")).toBe(5);
  });

  it("loads CommonJS modules that require each other, and circles through both kinds", async () => {
    using folder = new ConfigFolder({
      "a.cjs": "exports.name = 'a'; const b = require('./b.cjs'); exports.transform = () => b.names();",
      "b.cjs": "const a = require('./a.cjs'); const c = require('./c.mjs'); exports.names = () => [a.name, c.name()];",
      "c.mjs": "import * as a from './a.cjs'; export const name = () => a.name + 'c';",
      "d.mjs": "import e from './e.cjs'; export const name = 'd'; export default () => e();",
      "e.cjs": "const d = require('./d.mjs'); module.exports = () => d.name;",
    });
    expect(await folder.run("a.cjs")).toEqual(["a", "ac"]);
    expect(await folder.run("d.mjs")).toBe("d");
  });

  it("gives two importers of a slow module all of it, not what it has exported so far", async () => {
    using folder = new ConfigFolder({
      "a.mjs": `
        const [one, two, three] = await Promise.all([import("./slow.mjs"), import("./b.mjs"), import("./slow.mjs")]);
        export default () => [one.value, two.value, three.value];`,
      "b.mjs": "import { value as seen } from './slow.mjs'; export const value = `b ${seen}`;",
      "slow.mjs": "await new Promise((resolve) => setTimeout(resolve, 20)); export const value = 'all';",
    });
    expect(await folder.run("a.mjs")).toEqual(["all", "b all", "all"]);
  });

  it("makes a module wait for one that once imported it and is still loading", async () => {
    using folder = new ConfigFolder({
      "a.mjs": `
        const pending = import("./slow.mjs");
        await new Promise((resolve) => setTimeout(resolve, 5));
        const { later } = await import("./b.mjs");
        const seen = await later();
        await pending;
        export default () => seen;`,
      "slow.mjs":
        "import './b.mjs'; await new Promise((resolve) => setTimeout(resolve, 50)); export const value = 'all';",
      "b.mjs": "export const later = async () => (await import('./slow.mjs')).value;",
    });
    expect(await folder.run("a.mjs")).toBe("all");
  });

  it("does not mistake three modules around a circle for one that never ends", async () => {
    using folder = new ConfigFolder({
      "a.mjs": "import './b.mjs'; import './c.mjs'; export default () => 'done';",
      "b.mjs": "await null; import './c.mjs'; export const b = 1;",
      "c.mjs": "import './b.mjs'; import './a.mjs'; await null; export const c = 1;",
    });
    expect(await folder.run("a.mjs")).toBe("done");
  });

  it("tries a module again at call time after it has failed", async () => {
    using folder = new ConfigFolder({
      "a.mjs":
        "export default async () => { try { return (await import('./b.mjs')).n; } catch (e) { return e.message; } };",
      "b.mjs": "throw new Error('not yet');",
    });
    const transforms = await folder.load(["a.mjs"]);
    expect(await call(transforms.get("m0"))).toBe("not yet");
    folder.write("b.mjs", "export const n = 3;");
    expect(await call(transforms.get("m0"))).toBe(3);
  });
});

describe("loadTransforms: reload", () => {
  it.each([
    ["ts", "ts"],
    ["mjs", "mjs"],
    ["cjs", "cjs"],
    ["js", "json"],
  ])("runs the new text of a .%s module and of the .%s file it imports", async (outer, inner) => {
    const value = (text: string): string => {
      if (inner === "json") return JSON.stringify({ value: text });
      return inner === "cjs" ? `exports.value = "${text}";` : `export const value = "${text}";`;
    };
    const main = (text: string): string =>
      outer === "cjs"
        ? `const b = require("./b.${inner}"); exports.transform = () => "${text} " + b.value;`
        : `import * as b from "./b.${inner}"; export default () => "${text} " + b.value;`;
    using folder = new ConfigFolder({ [`a.${outer}`]: main("old"), [`b.${inner}`]: value("old") });
    const before = await folder.load([`a.${outer}`]);
    expect(await call(before.get("m0"))).toBe("old old");

    folder.write(`b.${inner}`, value("new"));
    const between = await folder.load([`a.${outer}`]);
    folder.write(`a.${outer}`, main("new"));
    const after = await folder.load([`a.${outer}`]);

    expect(await call(between.get("m0"))).toBe("old new");
    expect(await call(after.get("m0"))).toBe("new new");
    expect(await call(before.get("m0"))).toBe("old old");
  });

  it("leaves nothing in Node's own module cache, nor a file beside the modules", async () => {
    using folder = new ConfigFolder({ "a.cjs": "require('./b.json'); module.exports = () => 1;", "b.json": "{}" });
    await folder.load(["a.cjs"]);
    const cached = Object.keys(createRequire(import.meta.url).cache).filter((file) => file.startsWith(folder.outer));
    expect(cached).toEqual([]);
    expect(readdirSync(folder.base)).toEqual(["a.cjs", "b.json"]);
  });
});
