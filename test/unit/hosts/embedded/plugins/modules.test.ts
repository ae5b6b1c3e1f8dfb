import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PluginFolder } from "./plugin-folder.ts";

/** Writes a package and says what it exports by the name of its kind. */
function install(folder: PluginFolder, at: string, manifest: object, files: Readonly<Record<string, string>>): void {
  folder.write(
    join(at, "package.json"),
    JSON.stringify({ name: at.split("node_modules/").at(-1), version: "1.0.0", ...manifest }),
  );
  for (const [file, text] of Object.entries(files)) folder.write(join(at, file), text);
}

/** A class that shows what it got of a package. */
const showing = (imports: string): string =>
  `${imports} export default class { constructor() { this.got = got; } apply() {} }`;

async function got(folder: PluginFolder, path: string): Promise<unknown> {
  const [loaded] = await folder.load([path]);
  return (loaded!.plugin as { got?: unknown }).got;
}

describe("a plugin's packages", () => {
  it.each<[string, string, object, Readonly<Record<string, string>>]>([
    ["in its own node_modules", "acme/node_modules/sdk", {}, { "index.js": 'exports.got = "cjs";' }],
    ["hoisted beside it", "node_modules/sdk", {}, { "index.js": 'exports.got = "cjs";' }],
    ["of ES modules", "node_modules/sdk", { type: "module" }, { "index.js": 'export const got = "cjs";' }],
    [
      "that are for import alone",
      "node_modules/sdk",
      { type: "module", exports: { import: "./main.js" } },
      { "main.js": 'export const got = "cjs";' },
    ],
  ])("are found %s", async (_where, at, manifest, files) => {
    using folder = new PluginFolder();
    install(folder, at, { main: "index.js", ...manifest }, files);
    const path = folder.plugin("acme", {}, { "index.js": showing('import { got } from "sdk";') });
    expect(await got(folder, path)).toBe("cjs");
  });

  it("are found when npm installed the plugin, with what it needs hoisted beside it", async () => {
    using folder = new PluginFolder();
    install(
      folder,
      "node_modules/sdk",
      { main: "index.js" },
      { "index.js": "module.exports = function hoisted() {};", "sub.js": "module.exports = 7;" },
    );
    install(folder, "node_modules/@acme/data", {}, { "data.json": '{ "n": 8 }' });
    const text = 'import sdk from "sdk"; import data from "@acme/data/data.json"; const got = [sdk.name, data.n];';
    const path = folder.plugin("node_modules/reveille-acme", { id: "acme" }, { "index.js": showing(text) });
    expect(await got(folder, path)).toEqual(["hoisted", 8]);
  });

  it("are found beside the real folder of a plugin that is linked, as pnpm does it", async () => {
    using folder = new PluginFolder();
    const store = "node_modules/.pnpm/reveille-acme@1/node_modules";
    install(folder, `${store}/sdk`, { main: "index.js" }, { "index.js": "exports.got = 1;" });
    const real = folder.plugin(
      `${store}/reveille-acme`,
      { id: "acme" },
      { "index.js": showing('import { got } from "sdk";') },
    );
    symlinkSync(real, join(folder.path, "node_modules/reveille-acme"));
    expect(await got(folder, join(folder.path, "node_modules/reveille-acme"))).toBe(1);
  });

  it("are loaded once for all plugins, by Node, which jiti could not do with every one", async () => {
    using folder = new PluginFolder();
    mkdirSync(join(folder.path, "node_modules"));
    const root = join(import.meta.dirname, "../../../../..");
    symlinkSync(join(root, "node_modules/jose"), join(folder.path, "node_modules/jose"));
    const text = 'import { SignJWT } from "jose"; const got = SignJWT;';
    const paths = ["one", "two"].map((name) => folder.plugin(name, {}, { "index.js": showing(text) }));
    const [one, two] = (await folder.load(paths)).map(({ plugin }) => (plugin as { got?: unknown }).got);
    expect(one).toBeTypeOf("function");
    expect(two).toBe(one);
  });

  it("are loaded once also when they lie within the plugin and it is loaded again", async () => {
    using folder = new PluginFolder();
    install(folder, "acme/node_modules/sdk", {}, { "index.js": "exports.got = {};" });
    const path = folder.plugin("acme", {}, { "index.js": showing('import { got } from "sdk";') });
    const first = await got(folder, path);
    expect(first).toEqual({});
    expect(await got(folder, path)).toBe(first);
  });

  it("that build on this one get the gateway's own copy when they lie within the plugin", async () => {
    using folder = new PluginFolder();
    const toolkit = { type: "module", main: "index.js", peerDependencies: { reveille: "*" } };
    install(folder, "acme/node_modules/toolkit", toolkit, {
      "index.js": 'import { WebhookIngress } from "reveille"; export const got = WebhookIngress;',
    });
    const path = folder.plugin("acme", {}, { "index.js": showing('import { got } from "toolkit";') });
    const { WebhookIngress } = await import("../../../../../src/index.ts");
    expect(await got(folder, path)).toBe(WebhookIngress);
  });

  it("that build on this one are refused where they would get another copy", async () => {
    using folder = new PluginFolder();
    install(folder, "node_modules/toolkit", { dependencies: { reveille: "1" } }, { "index.js": "exports.got = 1;" });
    const path = folder.plugin("acme", {}, { "index.js": showing('import { got } from "toolkit";') });
    expect(await folder.refusal([path])).toEqual([
      'plugins.load.paths[0]: ~/acme/index.js:1: cannot import "toolkit": it builds on "reveille" and lies outside of the ' +
        "plugin, so it would get another copy; ship it within the plugin (bundleDependencies in its package.json)",
    ]);
  });

  it("may be written in TypeScript within the plugin, and the plugin may call itself by its name", async () => {
    using folder = new PluginFolder();
    install(
      folder,
      "acme/node_modules/typed",
      { exports: "./index.ts" },
      { "index.ts": "export const typed: number = 1;" },
    );
    folder.write("acme/package.json", JSON.stringify({ name: "acme", exports: { "./own": "./own.ts" } }));
    const text = 'import { typed } from "typed"; import { own } from "acme/own"; const got = typed + own;';
    const path = folder.plugin("acme", {}, { "index.js": showing(text), "own.ts": "export const own: number = 1;" });
    expect(await got(folder, path)).toBe(2);
  });

  it("are found by require in CommonJS, and may come without a package.json", async () => {
    using folder = new PluginFolder();
    folder.write("node_modules/bare/index.js", "exports.bare = 1;");
    folder.write("node_modules/package.json", "null");
    const path = folder.plugin(
      "acme",
      { entry: "index.cjs" },
      {
        "index.cjs": `const { bare } = require("bare"); const { sep } = require("path");
        module.exports = class { constructor() { this.got = [bare, sep]; } apply() {} };`,
      },
    );
    expect(await got(folder, path)).toEqual([1, "/"]);
  });

  it.each([
    ["is not there", {}, 'cannot import "sdk": there is no such package in ~/acme/node_modules; install it there'],
    [
      "waits for something when it is loaded",
      { "node_modules/sdk/index.js": "await 0; export const got = 1;" },
      'cannot import "sdk": the package has a top-level await, which plugins cannot wait for',
    ],
    [
      "throws",
      { "node_modules/sdk/index.js": 'throw new Error("no licence");' },
      "throws while it is loaded: Error: no licence",
    ],
  ])("are named with the importing file when one %s", async (_case, files, reason) => {
    using folder = new PluginFolder();
    for (const [file, text] of Object.entries(files)) folder.write(file, text);
    if (Object.keys(files).length > 0)
      folder.write("node_modules/sdk/package.json", '{ "name": "sdk", "type": "module" }');
    const path = folder.plugin("acme", {}, { "index.js": showing('\nimport { got } from "sdk";') });
    expect(await folder.refusal([path])).toEqual([`plugins.load.paths[0]: ~/acme/index.js:2: ${reason}`]);
  });
});
