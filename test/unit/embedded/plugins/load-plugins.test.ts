import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Type as sinclair } from "@sinclair/typebox";
import { Type as typebox } from "typebox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../../../src/config/config-error.ts";
import type { PluginEntryConfig } from "../../../../src/embedded/gateway-config.ts";
import { applyPlugin, loadPlugins } from "../../../../src/embedded/plugins/load-plugins.ts";
import type { LoadedPlugin } from "../../../../src/embedded/plugins/load-plugins.ts";
import type { GatewayHost } from "../../../../src/host.ts";
import { recordingLogger } from "../server/recording-logger.ts";

const logger = recordingLogger();
const publicApi = { answer: 42 };
const good = "export default class { constructor(config) { this.config = config; } apply(host) { this.host = host; } }";
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-plugins-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
  logger.lines.length = 0;
});

/** Writes a plugin's folder and returns its path. */
function plugin(name: string, manifest: object | string, files: Record<string, string> = { "index.js": good }): string {
  const path = join(folder, name);
  const text =
    typeof manifest === "string" ? manifest : JSON.stringify({ pluginApi: "1", entry: "index.js", ...manifest });
  for (const [file, content] of Object.entries({ "plugin.json": text, ...files })) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), content);
  }
  return path;
}

async function load(
  paths: readonly string[],
  entries: Record<string, Partial<PluginEntryConfig>> = {},
): Promise<readonly LoadedPlugin[]> {
  const settings = Object.entries(entries).map(
    ([id, entry]) => [id, { enabled: true, config: undefined, ...entry }] as const,
  );
  return await loadPlugins({ load: paths, entries: new Map(settings) }, { logger, publicApi });
}

async function refusal(...args: Parameters<typeof load>): Promise<string> {
  try {
    await load(...args);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
  throw new Error("The plugins were not refused.");
}

describe("loadPlugins", () => {
  it("loads plugins in order and constructs each with its own options", async () => {
    const one = plugin("one", { id: "one", lifecycle: ["onHttpRoute"], name: "One", version: "1" });
    const two = plugin("two", { id: "two" });
    const loaded = await load([one, join(two, "plugin.json")], { one: { config: { a: 1 } } });
    expect(loaded.map(({ id }) => id)).toEqual(["one", "two"]);
    expect(loaded[0]?.plugin).toMatchObject({ config: { a: 1 } });
    expect(loaded[1]?.plugin).toMatchObject({ config: undefined });
  });

  it("loads TypeScript and gives a plugin that imports this package the gateway's own copy", async () => {
    const path = plugin(
      "ts",
      { id: "ts", entry: "src/main.ts" },
      {
        "src/main.ts": `
          import { answer } from "reveille";
          import { count, increase } from "./state.ts";
          import "./other.ts";
          increase();
          interface Options { readonly name: string }
          export class Greeter {
            readonly name: string;
            readonly seen: unknown;
            constructor(options: Options) { this.name = options.name; this.seen = { answer, count: count() }; }
            apply(): void {}
          }`,
        "src/state.ts":
          "let counted: number = 0; export const increase = (): void => { counted++; }; export const count = (): number => counted;",
        "src/other.ts": 'import { increase } from "./state.ts"; increase();',
      },
    );
    const [loaded] = await load([path], { ts: { config: { name: "Ann" } } });
    expect(loaded?.plugin).toMatchObject({ name: "Ann", seen: { answer: 42, count: 2 } });
  });

  it("holds options to the plugin's schema and shows none of them", async () => {
    const configSchema = {
      type: "object",
      required: ["url"],
      properties: { url: { type: "string" }, token: { type: "number" } },
      additionalProperties: false,
    };
    const path = plugin("strict", { id: "strict", configSchema });
    const [loaded] = await load([path], { strict: { config: { url: "x" } } });
    expect(loaded?.plugin).toMatchObject({ config: { url: "x" } });
    expect(await refusal([path])).toBe("plugins.entries.strict.config.url: is required");
    const message = await refusal([path], { strict: { config: { url: "x", token: "sk-secret", ulr: 1 } } });
    expect(message.split("\n").toSorted()).toEqual([
      "plugins.entries.strict.config.token: the value is not a number",
      'plugins.entries.strict.config.ulr: unknown key; did you mean "url"?',
    ]);
  });

  it.each([
    ["typebox", typebox.Object({ url: typebox.String() }, { additionalProperties: false })],
    ["@sinclair/typebox", sinclair.Object({ url: sinclair.String() }, { additionalProperties: false })],
  ])("accepts a schema that the plugin's author wrote with %s", async (_library, configSchema) => {
    const path = plugin("typed", { id: "typed", configSchema });
    const [loaded] = await load([path], { typed: { config: { url: "x" } } });
    expect(loaded?.plugin).toMatchObject({ config: { url: "x" } });
    expect(await refusal([path], { typed: { config: { url: 1 } } })).toBe(
      "plugins.entries.typed.config.url: the value is not a string",
    );
  });

  it("leaves a disabled plugin out, and does not even import it", async () => {
    const path = plugin("off", { id: "off" }, { "index.js": "throw new Error('imported');" });
    expect(await load([path], { off: { enabled: false } })).toEqual([]);
    expect(logger.lines).toMatchObject([{ level: "info", fields: { plugin: "off" } }]);
  });

  it("names everything that is wrong with any of them at once", async () => {
    const message = await refusal([join(folder, "gone"), plugin("a", { id: "a" }), plugin("b", "{")]);
    expect(message.split("\n")).toEqual([
      `plugins.load.paths[0]: ${join(folder, "gone")} does not exist`,
      `plugins.load.paths[2]: ${join(folder, "b", "plugin.json")} is not JSON`,
    ]);
  });

  it("refuses a folder without a plugin.json", async () => {
    mkdirSync(join(folder, "bare"));
    expect(await refusal([join(folder, "bare")])).toContain("cannot be read; a plugin is a folder with a plugin.json");
  });

  it("refuses a manifest with missing, wrong and unknown keys", async () => {
    const message = await refusal([
      plugin("m", '{ "id": "Bad Id", "entry": "x", "confgSchema": {}, "lifecycle": ["onBoot"] }'),
    ]);
    expect(message).toContain("pluginApi is required");
    expect(message).toContain('id "Bad Id" is not a name of lower-case letters, digits, - and _');
    expect(message).toContain('confgSchema unknown key; did you mean "configSchema"?');
    expect(message).toContain('lifecycle[0] "onBoot" is not one of onConfigLoad, onHttpRoute, onShutdown');
    expect(await refusal([plugin("list", "[]")])).toContain("a list is not an object");
  });

  it("refuses a plugin for another version of the plugin API", async () => {
    expect(await refusal([plugin("v", { id: "v", pluginApi: "2" })])).toContain(
      "the plugin is written for plugin API 2, and this gateway has 1",
    );
  });

  it("refuses two plugins with one id, and the built-in one's id", async () => {
    const message = await refusal([
      plugin("x", { id: "same" }),
      plugin("y", { id: "same" }),
      plugin("z", { id: "reveille" }),
    ]);
    expect(message.split("\n")).toEqual([
      'plugins.load.paths[1]: "same" is also the id of the plugin in plugins.load.paths[0]',
      'plugins.load.paths[2]: "reveille" is the id of the built-in plugin; the plugin needs another',
    ]);
  });

  it("refuses settings for a plugin that is not loaded", async () => {
    expect(await refusal([plugin("a", { id: "a" })], { b: {} })).toBe(
      "plugins.entries.b: is the id of no plugin in plugins.load.paths",
    );
  });

  it("refuses an entry that is missing, is a folder, or leads out of the plugin's folder", async () => {
    writeFileSync(join(folder, "outside.js"), good);
    expect(await refusal([plugin("a", { id: "a", entry: "none.js" })])).toContain('entry "none.js" does not exist');
    expect(await refusal([plugin("b", { id: "b", entry: "../outside.js" })])).toContain(
      "leads out of the plugin's folder",
    );
    expect(await refusal([plugin("c", { id: "c", entry: "." })])).toContain("leads out of the plugin's folder");
    const linked = plugin("d", { id: "d", entry: "link.js" });
    symlinkSync(join(folder, "outside.js"), join(linked, "link.js"));
    expect(await refusal([linked])).toContain("leads out of the plugin's folder");
    expect(await refusal([plugin("e", { id: "e", entry: "sub" }, { "sub/index.js": good })])).toContain(
      "is not a file",
    );
  });

  it("takes a plugin whose folder is itself a link", async () => {
    plugin("real", { id: "linked" });
    symlinkSync(join(folder, "real"), join(folder, "alias"));
    expect(await load([join(folder, "alias")])).toHaveLength(1);
  });

  it("refuses a module that cannot be loaded, with its reason", async () => {
    const path = plugin("broken", { id: "broken" }, { "index.js": "throw new Error('no such luck');" });
    expect(await refusal([path])).toContain("cannot be loaded: no such luck");
  });

  it("refuses a module without, or with several, classes that have apply", async () => {
    const none = {
      "index.js": "export default {}; export class A {} export const f = () => {}; export function g() {}",
    };
    const several = { "index.js": "export class A { apply() {} } export class B { apply() {} }" };
    expect(await refusal([plugin("none", { id: "none" }, none)])).toContain("exports no class with an apply method");
    expect(await refusal([plugin("several", { id: "several" }, several)])).toContain("exports several classes");
  });

  it("takes a class that inherits apply, and one that is exported under two names", async () => {
    const text = "class Base { apply() {} } export class A extends Base {} export { A as B };";
    expect(await load([plugin("inherits", { id: "inherits" }, { "index.js": text })])).toHaveLength(1);
  });

  it("refuses a plugin whose constructor throws, or whose schema is none", async () => {
    const picky = {
      "index.js": "export default class { constructor() { throw new Error('needs a url'); } apply() {} }",
    };
    expect(await refusal([plugin("picky", { id: "picky" }, picky)])).toContain(
      'the plugin "picky" refused its options: needs a url',
    );
    expect(await refusal([plugin("bad", { id: "bad", configSchema: { pattern: "(" } })])).toContain(
      'the configSchema of the plugin "bad" is not a JSON schema',
    );
  });
});

describe("applyPlugin", () => {
  const host = { name: "test" } as GatewayHost;

  it("gives the plugin the host", async () => {
    const [loaded] = await load([plugin("a", { id: "a" })]);
    applyPlugin(loaded!, host);
    expect(loaded?.plugin).toMatchObject({ host: { name: "test" } });
  });

  it("reports what apply throws under the plugin's id", async () => {
    const text = "export default class { apply() { throw 'not today'; } }";
    const [loaded] = await load([plugin("moody", { id: "moody" }, { "index.js": text })]);
    expect(() => {
      applyPlugin(loaded!, host);
    }).toThrow("plugins.entries.moody: the plugin could not be applied: not today");
  });
});
