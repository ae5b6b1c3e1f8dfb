import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PluginFolder, presetText } from "./plugin-folder.ts";

/** A module of each kind with a value in it. */
const KINDS: Readonly<Record<string, (value: number) => string>> = {
  "a.ts": (value) => `export const a: number = ${value};`,
  "b.mjs": (value) => `export const b = ${value};`,
  "c.cjs": (value) => `exports.c = ${value};`,
  "d.json": (value) => `{ "d": ${value} }`,
  "e.js": (value) => `export const e = ${value};`,
};
const ENTRY = `
  import { a } from "./a.ts"; import { b } from "./b.mjs"; import { c } from "./c.cjs";
  import data from "./d.json"; import { e } from "./e.js";
  export default class { constructor() { this.values = [a, b, c, data.d, e]; } apply() {} }`;

describe("a plugin that is loaded again", () => {
  it("is read again with every file it imports, of whatever kind", async () => {
    using folder = new PluginFolder();
    const write = (value: number): string =>
      folder.plugin(
        "kinds",
        { entry: "index.ts" },
        {
          "index.ts": ENTRY,
          ...Object.fromEntries(Object.entries(KINDS).map(([file, text]) => [file, text(value)])),
        },
      );
    const [first] = await folder.load([write(1)]);
    const [second] = await folder.load([write(2)]);
    expect(first?.plugin).toMatchObject({ values: [1, 1, 1, 1, 1] });
    expect(second?.plugin).toMatchObject({ values: [2, 2, 2, 2, 2] });
  });

  it("has no state of the modules before, and gets its presets as they are now", async () => {
    using folder = new PluginFolder();
    const counts = "let made = 0; export default class { constructor() { this.made = ++made; } apply() {} }";
    const write = (preset: string): string =>
      folder.plugin("counts", { presets: ["p.js"] }, { "index.js": counts, "p.js": presetText(preset) });
    const loaded = [await folder.load([write("one")]), await folder.load([write("two")])].flat();
    expect(loaded.map(({ plugin }) => (plugin as { made?: number }).made)).toEqual([1, 1]);
    expect(loaded.flatMap(({ presets }) => presets.map(({ preset }) => preset.name))).toEqual(["one", "two"]);
  });

  it("keeps a package as it was, and warns when that was replaced", async () => {
    using folder = new PluginFolder();
    const install = (version: string): void => {
      folder.write("node_modules/acme-sdk/package.json", JSON.stringify({ name: "acme-sdk", version }));
      folder.write("node_modules/acme-sdk/index.js", `exports.version = "${version}";`);
    };
    const uses = `import { version } from "acme-sdk"; export default class { constructor() { this.sdk = version; } apply() {} }`;
    const path = folder.plugin("uses", {}, { "index.js": uses });
    install("1.0.0");
    await folder.load([path]);
    await folder.load([path]);
    expect(folder.logger.lines).toEqual([]);
    install("2.0.0");
    const [loaded] = await folder.load([path]);
    expect(loaded?.plugin).toMatchObject({ sdk: "1.0.0" });
    expect(folder.logger.lines).toMatchObject([
      { level: "warn", fields: { plugin: "uses", name: "acme-sdk", loaded: "1.0.0", installed: "2.0.0" } },
    ]);
  });

  it("is refused when a file is gone that it had before", async () => {
    using folder = new PluginFolder();
    const path = folder.plugin(
      "part",
      {},
      { "index.js": `import "./part.js"; export default class { apply() {} }`, "part.js": "" },
    );
    await folder.load([path]);
    rmSync(join(path, "part.js"));
    expect(await folder.refusal([path])).toEqual([
      'plugins.load.paths[0]: ~/part/index.js:1: cannot import "./part.js": there is no such file',
    ]);
  });
});
