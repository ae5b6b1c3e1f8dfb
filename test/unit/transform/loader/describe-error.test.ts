import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeFailure } from "../../../../src/transform/loader/describe-error.ts";
import { describeThrown } from "../../../../src/transform/loader/describe-error.ts";
import { ModuleLoader } from "../../../../src/transform/loader/module-loader.ts";
import { SourcePositions } from "../../../../src/transform/loader/source-positions.ts";
import { stackPlaces } from "../../../../src/transform/loader/source-positions.ts";

class Folder implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "reveille-positions-")));
  readonly root = { path: this.path, name: "hooks/transforms" };
  readonly loader = new ModuleLoader(this.root);

  constructor(files: Readonly<Record<string, string>>) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), text);
    }
  }

  /** Why a module does not load. */
  async failure(file: string, positions: SourcePositions | undefined = this.loader.positions): Promise<string> {
    const error = await this.loader.load(file).then(
      () => "it loads",
      (cause: unknown) => cause,
    );
    return describeFailure(error, { entry: join(this.path, file), root: this.root, positions });
  }

  /** What calling a module's default export throws. */
  async thrown(file: string): Promise<string> {
    const module = (await this.loader.load(file)) as { readonly default: () => unknown };
    try {
      await module.default();
    } catch (error) {
      return describeThrown(error, { root: this.root, positions: this.loader.positions });
    }
    return "nothing";
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

describe("the place of a failure", () => {
  it("is the line and column of the file as its author wrote it, for errors thrown while it is loaded", async () => {
    const wide = "const   n :   number   =  1;   ";
    using folder = new Folder({
      "first-line.ts": `${wide}throw new TypeError("a");`,
      "after-import.ts": `import { n as m } from "./good.ts";\nexport { m };\n${wide}throw   new TypeError("b");`,
      "call.mjs": "const missing = null;\n\n      const x = 1, y = missing.call();",
      "good.ts": "export const n = 1;",
      "import.cjs": "\n   const a = 1;      require('./gone.ts');",
    });
    const name = "hooks/transforms";
    const at = `1:${wide.length + 7}`;
    expect(await folder.failure("first-line.ts")).toBe(
      `${name}/first-line.ts:${at}: throws while it is loaded: TypeError: a`,
    );
    const deep = `3:${wide.length + 9}`;
    expect(await folder.failure("after-import.ts")).toBe(
      `${name}/after-import.ts:${deep}: throws while it is loaded: TypeError: b`,
    );
    expect(await folder.failure("call.mjs")).toMatch(
      /call\.mjs:3:32: throws while it is loaded: TypeError: Cannot read/,
    );
    expect(await folder.failure("import.cjs")).toBe(
      `${name}/import.cjs:2:22: cannot import "./gone.ts": there is no such file`,
    );
  });

  it("is known for what only the engine finds wrong, on the first line too", async () => {
    using folder = new Folder({
      "a.cjs": "require('./b.mjs');",
      "b.mjs": "export const y = 1;     export const z =    await 3;",
      "c.cjs": "require('./d.mjs');",
      "d.mjs": "\n\n export const   z =    await 3;",
    });
    const what = "await is only valid in async functions and the top level bodies of modules";
    expect(await folder.failure("a.cjs")).toBe(
      `hooks/transforms/b.mjs:1:45: ${what} (loaded by hooks/transforms/a.cjs)`,
    );
    expect(await folder.failure("c.cjs")).toBe(
      `hooks/transforms/d.mjs:3:24: ${what} (loaded by hooks/transforms/c.cjs)`,
    );
  });

  it("is the file alone where the translator does not say more", async () => {
    using folder = new Folder({ "a.ts": "import { n } from './b.ts';\nconst n = 1;\nexport default n;" });
    expect(await folder.failure("a.ts")).toBe('hooks/transforms/a.ts: Duplicate declaration "n"');
  });

  it("has no column without positions, and none in a package, whose lines alone are kept", async () => {
    using folder = new Folder({
      "a.mjs": "\nthrow new Error('a');",
      "b.mjs": "import 'lib';",
      "node_modules/lib/index.js": "\n\n\nexport const n = null.x;",
    });
    expect(await folder.failure("a.mjs", new SourcePositions())).toMatch(/^hooks\/transforms\/a\.mjs:2: throws/);
    expect(await folder.failure("b.mjs")).toMatch(/^hooks\/transforms\/node_modules\/lib\/index\.js:4: throws/);
  });

  it("is not spoilt by a source map that the file names itself", async () => {
    const other = Buffer.from('{"version":3,"sources":["x"],"names":[],"mappings":"AAAA"}').toString("base64");
    using folder = new Folder({
      "a.ts": `const n: number = 1;   throw new Error("a");\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,${other}`,
      "b.ts": `const n: number = 1;   throw new Error("b");\n//# sourceMappingURL=gone.js.map`,
    });
    expect(await folder.failure("a.ts")).toContain("a.ts:1:30: ");
    expect(await folder.failure("b.ts")).toContain("b.ts:1:30: ");
  });

  it("is that of the newest text when a module is tried again", async () => {
    using folder = new Folder({ "a.ts": "throw new Error('one');" });
    expect(await folder.failure("a.ts")).toContain("a.ts:1:7: ");
    writeFileSync(join(folder.path, "a.ts"), "const n: number = 1;   throw new Error('two');");
    expect(await folder.failure("a.ts")).toContain("a.ts:1:30: ");
  });
});

describe("describeThrown", () => {
  it("names the innermost place in the author's own files, also below a package's", async () => {
    using folder = new Folder({
      "a.ts": "import { run } from './b.ts';\nexport default (): unknown => run();",
      "b.ts": "import lib from 'lib';\nexport const run = (): unknown => {\n   const n: number = 1; return lib(n);\n};",
      "node_modules/lib/index.cjs": "module.exports = () => { throw new RangeError('deep'); };",
      "node_modules/lib/package.json": '{ "main": "index.cjs" }',
    });
    expect(await folder.thrown("a.ts")).toMatch(/^threw RangeError: deep \(hooks\/transforms\/b\.ts:3:\d+\)$/);
  });

  it.each([
    ["undefined", "undefined"],
    ["'a text'", "'a text'"],
    ["{ code: 7, deep: { er: 1 } }", "{ code: 7, deep: [Object] }"],
    ["{ [Symbol.for('nodejs.util.inspect.custom')]: () => 'own words' }", /^threw \{/],
    ["new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 1; } })", "{}"],
    ["Object.assign(new Error('line one\\nline two'), { name: 'Own' })", /^threw Own: line one \(/],
    ["Object.assign(new Error(''), { stack: undefined })", "Error"],
    ["new Error('x'.repeat(1_000))", /^threw Error: x{293}\.\.\. \(/],
    [
      "Object.defineProperty(new Error('e'), 'stack', { get() { throw 1; } })",
      "something that throws when it is looked at",
    ],
  ])("describes in one line what was thrown, whatever it is: %s", async (thrown, told) => {
    using folder = new Folder({ "a.mjs": `export default () => { throw ${thrown}; };` });
    const text = await folder.thrown("a.mjs");
    if (typeof told === "string") expect(text).toBe(`threw ${told}`);
    else expect(text).toMatch(told);
  });
});

describe("stackPlaces", () => {
  const withStack = (stack: unknown): Error => Object.assign(new Error("e"), { stack });

  it("takes only places inside of the folder, whatever a stack says, and a bounded number", () => {
    const stack = [
      "Error: e",
      "    at f (/etc/passwd:1:1)",
      "    at /transforms/a.ts:3:9",
      "    at async g (/transforms/b.ts:4:1)",
      "    at nonsense",
    ];
    expect(stackPlaces(withStack(stack.join("\n")), "/transforms").map(({ file, line }) => `${file}:${line}`)).toEqual([
      "/transforms/a.ts:3",
      "/transforms/b.ts:4",
    ]);
    const long = `Error: e\n${"    at f (/transforms/a.ts:1:1)\n".repeat(10_000)}`;
    expect(stackPlaces(withStack(long), "/transforms")).toHaveLength(50);
    expect(
      stackPlaces(withStack(`Error: ${"x".repeat(30_000)}\n    at f (/transforms/a.ts:1:1)`), "/transforms"),
    ).toEqual([]);
  });

  it("finds nothing in what is not an error, or has no stack", () => {
    expect(stackPlaces({ stack: "    at /transforms/a.ts:1:1" }, "/transforms")).toEqual([]);
    expect(stackPlaces(withStack(7), "/transforms")).toEqual([]);
    expect(stackPlaces(undefined, "/transforms")).toEqual([]);
  });
});
