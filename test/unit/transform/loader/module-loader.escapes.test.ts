import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ModuleLoader } from "../../../../src/transform/loader/module-loader.ts";
import { ConfigFolder, call } from "../config-folder.ts";

/** A file outside that says when it runs. */
const SECRET = "globalThis.secretRan = true; exports.secret = 'secret';";

function guarded(files: Readonly<Record<string, string>>): ConfigFolder & { readonly secret: string } {
  Reflect.deleteProperty(globalThis, "secretRan");
  const folder = new ConfigFolder(files);
  const secret = join(folder.outer, "secret.cjs");
  writeFileSync(secret, SECRET);
  return Object.assign(folder, { secret });
}

function secretRan(): boolean {
  return Reflect.has(globalThis, "secretRan");
}

const OUT = "../../../secret.cjs";
const outside = (specifier: string): string =>
  `cannot import ${JSON.stringify(specifier)}: it lies outside of hooks/transforms, the only folder to load from`;

describe("a transform cannot load, while it is loaded,", () => {
  it.each([
    ["a static import", "a.mjs", `import { secret } from "${OUT}"; export default () => secret;`],
    ["a static import in TypeScript", "a.ts", `import { secret } from "${OUT}"; export default () => secret;`],
    ["an import for its effect", "a.mjs", `import "${OUT}"; export default () => 1;`],
    ["a re-export", "a.ts", `export * from "${OUT}";`],
    ["require", "a.cjs", `const { secret } = require("${OUT}"); module.exports = () => secret;`],
    ["require.resolve", "a.cjs", `require.resolve("${OUT}");`],
    ["import.meta.resolve", "a.mjs", `import.meta.resolve("${OUT}");`],
    ["import()", "a.mjs", `const { secret } = await import("${OUT}"); export default () => secret;`],
    ["import() in CommonJS", "a.mjs", `import a from "./b.cjs"; await a(); export default () => 1;`],
    ["an import of an import", "a.mjs", "export { default } from './lib/deep/c.mjs';"],
  ])("spec 4.3: what is outside, by %s", async (_, file, text) => {
    using folder = guarded({
      "b.cjs": `module.exports = () => import("${OUT}");`,
      "lib/deep/c.mjs": `import { secret } from "../../${OUT}"; export default () => secret;`,
    });
    folder.write(file, text);
    const [issue, ...others] = await folder.refusal([file]);
    expect(issue).toContain(outside(text.includes("deep") ? `../../${OUT}` : OUT));
    expect(others).toEqual([]);
    expect(secretRan()).toBe(false);
  });

  it("spec 4.3: what is outside, by an absolute path or a file URL", async () => {
    using folder = guarded({});
    const specifiers = [folder.secret, `file://${folder.secret}`];
    for (const specifier of specifiers) {
      folder.write("a.mjs", `import { secret } from "${specifier}"; export default () => secret;`);
      expect(await folder.refusal(["a.mjs"])).toEqual([
        `hooks.mappings[0].transform.module: hooks/transforms/a.mjs:1:1: ${outside(specifier)}`,
      ]);
    }
    expect(secretRan()).toBe(false);
  });

  it("spec 4.3: what is outside, by a link to a file, to a folder, or two links in a row", async () => {
    using folder = guarded({});
    folder.link("file.cjs", folder.secret);
    folder.link("folder", folder.outer);
    folder.link("twice.cjs", "folder/secret.cjs");
    for (const specifier of ["./file.cjs", "./folder/secret.cjs", "./folder/secret", "./twice.cjs", "./file"]) {
      folder.write("a.mjs", `import { secret } from "${specifier}"; export default () => secret;`);
      expect(await folder.refusal(["a.mjs"])).toEqual([
        `hooks.mappings[0].transform.module: hooks/transforms/a.mjs:1:1: ${outside(specifier)}`,
      ]);
    }
    expect(secretRan()).toBe(false);
  });

  it("spec 4.3: its own module, when that is a link to what is outside", async () => {
    using folder = guarded({});
    folder.link("file.cjs", folder.secret);
    folder.link("folder", folder.outer);
    const refused = "leads outside by a link; a transform is a file inside of hooks/transforms";
    expect(await folder.refusal(["file.cjs", "folder/secret.cjs"])).toEqual([
      `hooks.mappings[0].transform.module: "file.cjs" ${refused}`,
      `hooks.mappings[1].transform.module: "folder/secret.cjs" ${refused}`,
    ]);
    expect(secretRan()).toBe(false);
  });

  it("packages that are installed above the folder, the gateway's own included", async () => {
    using folder = guarded({});
    const above = join(folder.configDir, "node_modules", "above");
    mkdirSync(above, { recursive: true });
    writeFileSync(join(above, "index.js"), SECRET);
    for (const name of ["above", "above/index.js", "json5", "jiti", "#internal", "@scope/none"]) {
      folder.write("a.ts", `import * as all from "${name}"; export default () => all;`);
      expect(await folder.refusal(["a.ts"])).toEqual([
        `hooks.mappings[0].transform.module: hooks/transforms/a.ts:1:1: cannot import "${name}": there is no such package in hooks/transforms/node_modules; install it there`,
      ]);
    }
    expect(secretRan()).toBe(false);
  });

  it("packages of its own folder that are links to what is outside", async () => {
    using folder = guarded({ "a.mjs": "import { secret } from 'linked'; export default () => secret;" });
    const linked = join(folder.outer, "linked");
    mkdirSync(linked);
    writeFileSync(join(linked, "index.js"), SECRET);
    folder.link("node_modules/linked", linked);
    expect(await folder.refusal(["a.mjs"])).toHaveLength(1);
    expect(secretRan()).toBe(false);
  });

  it("files below node_modules/typescript or node_modules/jiti by a rule of their own", async () => {
    for (const name of ["typescript", "jiti"]) {
      using folder = guarded({ "a.mjs": `import all from "${name}"; export default () => all.n;` });
      folder.write(`node_modules/${name}/package.json`, '{ "main": "main.js" }');
      folder.write(`node_modules/${name}/main.js`, `require("../../${OUT}");`);
      expect(await folder.refusal(["a.mjs"])).toHaveLength(1);
      folder.write(`node_modules/${name}/main.js`, "exports.n = 1;");
      expect(await folder.run("a.mjs")).toBe(1);
      folder.write(`node_modules/${name}/main.js`, "exports.n = 2;");
      expect(await folder.run("a.mjs")).toBe(2);
      expect(secretRan()).toBe(false);
    }
  });

  it("a link below node_modules/jiti, whose path jiti itself takes as it stands", async () => {
    using folder = guarded({});
    folder.link("node_modules/jiti/out.cjs", folder.secret);
    const specifier = join(folder.base, "node_modules/jiti/out.cjs");
    folder.write("a.mjs", `import { secret } from "${specifier}"; export default () => secret;`);
    expect(await folder.refusal(["a.mjs"])).toEqual([
      `hooks.mappings[0].transform.module: hooks/transforms/a.mjs:1:1: ${outside(specifier)}`,
    ]);
    expect(secretRan()).toBe(false);
  });

  it("text from elsewhere: data, http and other URLs", async () => {
    using folder = guarded({});
    for (const url of [
      "data:text/javascript,export default 1",
      "http://localhost/a.js",
      "blob:nodedata:x",
      "file://host/a.mjs",
    ]) {
      folder.write("a.mjs", `import all from "${url}"; export default () => all;`);
      const [issue] = await folder.refusal(["a.mjs"]);
      expect(issue).toContain(`hooks/transforms/a.mjs:1:1: cannot import "${url}": `);
    }
  });

  it("a native addon", async () => {
    using folder = guarded({ "a.cjs": "require('./addon.node');", "addon.node": "" });
    const [issue] = await folder.refusal(["a.cjs"]);
    expect(issue).toContain("hooks/transforms/a.cjs:1:1: .node files are not loaded");
  });
});

describe("a transform cannot load, while it is called,", () => {
  const attempts = {
    "import()": `() => import("${OUT}")`,
    "import() of a computed name": `() => import(["..", "..", "..", "secret.cjs"].join("/"))`,
    "import() of a URL": `() => import(new URL("${OUT}", "file://" + __filename))`,
    "import() of data": "() => import('data:text/javascript,export const secret = 1')",
    require: `() => require("${OUT}")`,
    "module.require": `() => module.require("${OUT}")`,
    "require.resolve": `() => require.resolve("${OUT}")`,
    "a link that was made later": '() => import("./later.cjs")',
    "import() in eval": `() => eval('import("${OUT}")')`,
    "import() in indirect eval": `() => (0, eval)('import("${OUT}")')`,
    "import() in Function": `() => new Function('return import("${OUT}")')()`,
    "import() in an eval of a timer": `() => new Promise((done, fail) => setTimeout(() => eval('import("${OUT}")').then(done, fail)))`,
  };

  it.each(Object.entries(attempts))("what is outside, by %s", async (_, attempt) => {
    using folder = guarded({
      "a.cjs": `const attempt = ${attempt}; exports.transform = async () => "loaded " + (await attempt());`,
    });
    const transforms = await folder.load(["a.cjs"]);
    folder.link("later.cjs", folder.secret);
    await expect(call(transforms.get("m0"))).rejects.toThrow(/cannot import|dynamic import callback|not a function/);
    expect(secretRan()).toBe(false);
  });

  it("a file whose folder was replaced by a link after the module was loaded", async () => {
    using folder = guarded({
      "a.mjs": "export default async () => (await import('./lib/secret.cjs')).secret;",
      "lib/secret.cjs": "exports.secret = 'harmless';",
    });
    const transforms = await folder.load(["a.mjs"]);
    renameSync(join(folder.base, "lib"), join(folder.base, "old"));
    folder.link("lib", folder.outer);
    await expect(call(transforms.get("m0"))).rejects.toThrow(outside("./lib/secret.cjs"));
    unlinkSync(join(folder.base, "lib"));
    folder.link("lib", "old");
    expect(await call(transforms.get("m0"))).toBe("harmless");
    expect(secretRan()).toBe(false);
  });
});

describe("a transform can load", () => {
  it("files by links that stay inside, as the same module", async () => {
    using folder = guarded({
      "real/a.mjs":
        "import { state as one } from '../real/state.mjs'; import { state as two } from '../again/state.mjs'; export default () => one === two;",
      "real/state.mjs": "export const state = {};",
    });
    folder.link("again", "real");
    folder.link("a.mjs", "real/a.mjs");
    expect(await folder.run("a.mjs")).toBe(true);
  });

  it("files of a folder that is itself a link, and messages name the files by the link", async () => {
    using folder = guarded({});
    const real = join(folder.outer, "transforms");
    mkdirSync(real);
    mkdirSync(join(folder.configDir, "hooks"));
    symlinkSync(real, folder.base);
    folder.write("a.ts", "import { n } from './b.ts'; export default () => n;");
    folder.write("b.ts", "export const n = 1;");
    expect(await folder.run("a.ts")).toBe(1);
    folder.write("b.ts", `\nimport '../secret.cjs'; export const n = 1;`);
    expect(await folder.refusal(["a.ts"])).toEqual([
      `hooks.mappings[0].transform.module: hooks/transforms/b.ts:2:1: ${outside("../secret.cjs")} (loaded by hooks/transforms/a.ts)`,
    ]);
  });

  it("only files of transformsDir, when that is a part of hooks/transforms", async () => {
    using folder = guarded({
      "team/a.ts": "import { b } from './b.ts'; export default () => b;",
      "team/b.ts": "export const b = 'b';",
      "team/c.ts": "import { d } from '../other/d.ts'; export default () => d;",
      "other/d.ts": "export const d = 'd';",
    });
    folder.transformsDir = join(folder.base, "team");
    expect(await folder.run("a.ts")).toBe("b");
    expect(await folder.refusal(["c.ts", "../other/d.ts"])).toEqual([
      'hooks.mappings[0].transform.module: hooks/transforms/team/c.ts:1:1: cannot import "../other/d.ts": it lies outside of hooks/transforms/team, the only folder to load from',
      'hooks.mappings[1].transform.module: "../other/d.ts" lies outside; a transform is a file inside of hooks/transforms/team',
    ]);
  });

  it("an absolute path that lies inside", async () => {
    using folder = guarded({ "a.mjs": "export default () => 1;" });
    expect(await folder.run(join(folder.base, "a.mjs"))).toBe(1);
  });

  it("anything, when it means to: builtins of Node are not taken away (documented limit)", async () => {
    using folder = guarded({
      "a.mjs": `import { createRequire } from "node:module"; export default () => createRequire(import.meta.url)("${OUT}").secret;`,
    });
    expect(await folder.run("a.mjs")).toBe("secret");
  });
});

describe("ModuleLoader", () => {
  it("checks the path it is asked for, too", async () => {
    const outer = realpathSync(mkdtempSync(join(tmpdir(), "reveille-loader-")));
    const loader = new ModuleLoader({ path: join(outer, "root"), name: "root" });
    await expect(loader.load(join(outer, "a.mjs"))).rejects.toThrow("lies outside");
    await expect(loader.load("a.mjs")).rejects.toThrow("there is no such file");
    rmSync(outer, { recursive: true });
  });
});
