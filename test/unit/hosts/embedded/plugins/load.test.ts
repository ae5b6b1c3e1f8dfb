import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { Type as typebox } from "typebox";
import { describe, expect, it } from "vitest";
import { PluginFolder, presetText } from "./plugin-folder.ts";
import * as sinclair from "../../../../fixtures/sinclair-typebox.ts";

describe("loadPlugins", () => {
  it("loads plugins in order and constructs each with its own options", async () => {
    using folder = new PluginFolder();
    const one = folder.plugin("one", { lifecycle: ["onHttpRoute"], name: "One", version: "1" });
    const two = folder.plugin("two", {});
    const loaded = await folder.load([one, join(two, "plugin.json")], { one: { config: { a: 1 } } });
    expect(loaded.map(({ id }) => id)).toEqual(["one", "two"]);
    expect(loaded[0]?.plugin).toMatchObject({ config: { a: 1 } });
    expect(loaded[1]?.plugin).toMatchObject({ config: undefined });
  });

  it("loads TypeScript and gives a plugin that imports this package the gateway's own copy", async () => {
    using folder = new PluginFolder();
    const path = folder.plugin(
      "ts",
      { entry: "src/main.ts" },
      {
        "src/main.ts": `
          import { WebhookIngress } from "reveille";
          import { count, increase } from "./state.ts";
          import "./other.ts";
          increase();
          interface Options { readonly name: string }
          export class Greeter {
            readonly name: string;
            readonly seen: unknown;
            constructor(options: Options) { this.name = options.name; this.seen = { WebhookIngress, count: count() }; }
            apply(): void {}
          }`,
        "src/state.ts":
          "let counted: number = 0; export const increase = (): void => { counted++; }; export const count = (): number => counted;",
        "src/other.ts": 'import { increase } from "./state.ts"; increase();',
      },
    );
    const [loaded] = await folder.load([path], { ts: { config: { name: "Ann" } } });
    const { WebhookIngress } = await import("../../../../../src/index.ts");
    expect(loaded?.plugin).toMatchObject({ name: "Ann", seen: { WebhookIngress, count: 2 } });
  });

  it("takes the default export before others, a class of CommonJS, and one that inherits apply and has two names", async () => {
    using folder = new PluginFolder();
    const inherits = "class Base { apply() {} } export class A extends Base {} export { A as B };";
    const several = "export class A { apply() {} } export default class B { b = 1; apply() {} }";
    const paths = [
      folder.plugin("three", {}, { "index.js": several }),
      folder.plugin("one", { entry: "index.cjs" }, { "index.cjs": "module.exports = class { apply() {} };" }),
      folder.plugin("two", {}, { "index.js": inherits }),
    ];
    const loaded = await folder.load(paths);
    expect(loaded).toHaveLength(3);
    expect(loaded[0]?.plugin).toEqual({ b: 1 });
  });

  it("gives a plugin a copy of its options, which it may change", async () => {
    using folder = new PluginFolder();
    const sorts =
      "export default class { constructor(given) { this.given = given; given.words.sort(); given.x = 1; } apply() {} }";
    const path = folder.plugin("sorts", {}, { "index.js": sorts });
    const config = { words: ["b", "a"] };
    const [loaded] = await folder.load([path], { sorts: { config } });
    expect(loaded?.plugin).toMatchObject({ given: { words: ["a", "b"], x: 1 } });
    expect(config).toEqual({ words: ["b", "a"] });
  });

  it("reads a manifest that begins with a byte order mark", async () => {
    using folder = new PluginFolder();
    const path = folder.plugin("marked", "\uFEFF" + JSON.stringify({ id: "marked", entry: "m.js", pluginApi: "1" }), {
      "m.js": "export default class { apply() {} }",
    });
    expect(await folder.load([path])).toMatchObject([{ id: "marked" }]);
  });

  it("holds options to the plugin's schema and shows none of them", async () => {
    using folder = new PluginFolder();
    const configSchema = {
      type: "object",
      required: ["url"],
      properties: { url: { type: "string" }, token: { type: "number" } },
      additionalProperties: false,
    };
    const path = folder.plugin("strict", { configSchema });
    const [loaded] = await folder.load([path], { strict: { config: { url: "x" } } });
    expect(loaded?.plugin).toMatchObject({ config: { url: "x" } });
    expect(await folder.refusal([path])).toEqual(["plugins.entries.strict.config.url: is required"]);
    const message = await folder.refusal([path], { strict: { config: { url: "x", token: "sk-secret", ulr: 1 } } });
    expect(message.toSorted()).toEqual([
      "plugins.entries.strict.config.token: the value is not a number",
      'plugins.entries.strict.config.ulr: unknown key; did you mean "url"?',
    ]);
  });

  it.each([
    ["typebox", typebox.Object({ url: typebox.String() }, { additionalProperties: false })],
    ["@sinclair/typebox", sinclair.object({ url: sinclair.string() }, { additionalProperties: false })],
  ])("accepts a schema that the plugin's author wrote with %s", async (_library, configSchema) => {
    using folder = new PluginFolder();
    const path = folder.plugin("typed", { configSchema });
    const [loaded] = await folder.load([path], { typed: { config: { url: "x" } } });
    expect(loaded?.plugin).toMatchObject({ config: { url: "x" } });
    expect(await folder.refusal([path], { typed: { config: { url: 1 } } })).toEqual([
      "plugins.entries.typed.config.url: the value is not a string",
    ]);
  });

  it("leaves a disabled plugin out, and does not even import it", async () => {
    using folder = new PluginFolder();
    const path = folder.plugin("off", {}, { "index.js": "throw new Error('imported');" });
    expect(await folder.load([path], { off: { enabled: false } })).toEqual([]);
    expect(folder.logger.lines).toMatchObject([{ level: "info", fields: { plugin: "off" } }]);
  });

  it("loads the presets of a manifest that has no class, as definitions or as definePreset made them", async () => {
    using folder = new PluginFolder();
    const made = `import { definePreset } from "reveille"; ${presetText("two").replace("default {", "default definePreset({").replace(/;\s*$/u, ");")}`;
    const files = {
      "one.js": presetText("one"),
      "two.ts": made,
      "three.cjs": presetText("three").replace("export default", "module.exports ="),
    };
    const path = folder.plugin("bundle", { entry: undefined, presets: Object.keys(files), pluginApi: "^1.1" }, files);
    const [loaded] = await folder.load([path]);
    expect(loaded?.presets.map(({ preset }) => preset.name)).toEqual(["one", "two", "three"]);
    const context = { payload: { type: "made" }, headers: {}, query: {}, path: "x", now: new Date(0), settings: {} };
    expect(loaded?.presets.map(({ preset }) => preset.eventOf(context))).toEqual(["made", "made", "made"]);
  });

  it("lets the class and the presets of a plugin share what they import", async () => {
    using folder = new PluginFolder();
    const path = folder.plugin(
      "shared",
      { presets: ["preset.js"] },
      {
        "state.js": "export const state = { loaded: 0 };",
        "preset.js": `import { state } from "./state.js"; state.loaded++; ${presetText("shared")}`,
        "index.js": `import { state } from "./state.js"; import "./preset.js";
          export default class { constructor() { this.state = state; } apply() {} }`,
      },
    );
    const [loaded] = await folder.load([path]);
    expect(loaded?.plugin).toMatchObject({ state: { loaded: 1 } });
  });

  it("takes a plugin whose folder is itself a link, and modules that are links within it", async () => {
    using folder = new PluginFolder();
    const real = folder.plugin("real", { entry: "alias.js" }, { "lib/main.js": "export default class { apply() {} }" });
    symlinkSync(join(real, "lib/main.js"), join(real, "alias.js"));
    symlinkSync(real, join(folder.path, "alias"));
    expect(await folder.load([join(folder.path, "alias")])).toHaveLength(1);
  });

  it("names everything that is wrong with any of them at once", async () => {
    using folder = new PluginFolder();
    mkdirSync(join(folder.path, "bare"));
    const manifest = '{ "id": "Bad Id", "entry": "x", "confgSchema": {}, "lifecycle": ["onBoot"] }';
    expect(
      await folder.refusal([join(folder.path, "bare"), folder.plugin("a", {}), folder.plugin("m", manifest)]),
    ).toEqual([
      "plugins.load.paths[0]: ~/bare has no plugin.json; a plugin is a folder with one",
      "plugins.load.paths[2]: ~/m/plugin.json: pluginApi: is required",
      'plugins.load.paths[2]: ~/m/plugin.json: confgSchema: unknown key; did you mean "configSchema"?',
      'plugins.load.paths[2]: ~/m/plugin.json: id: "Bad Id" is not a name of lower-case letters, digits, - and _',
      'plugins.load.paths[2]: ~/m/plugin.json: lifecycle[0]: "onBoot" is not one of onConfigLoad, onHttpRoute, onShutdown',
    ]);
  });
});
