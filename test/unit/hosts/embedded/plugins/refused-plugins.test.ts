import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PLUGIN_API } from "../../../../../src/hosts/embedded/plugins/manifest.ts";
import { readDocPage } from "../../../../docs/doc-blocks.ts";
import { tableRows } from "../../../../docs/table-rows.ts";
import { GOOD_CLASS, PluginFolder, presetText } from "./plugin-folder.ts";
import { AT, MODULES, PRESET_MODULES, PRESETS } from "./refused-modules.ts";
import type { Refusal } from "./refused-modules.ts";

const FOLDERS_AND_MANIFESTS: Readonly<Record<string, Refusal>> = {
  "a folder that does not exist": {
    paths: ["gone"],
    says: `${AT}~/gone does not exist; correct the path, or install the plugin there`,
  },
  "a folder without a plugin.json": {
    paths: ["p/sub"],
    files: { "sub/index.js": GOOD_CLASS },
    says: `${AT}~/p/sub has no plugin.json; a plugin is a folder with one`,
  },
  "a plugin.json that is a folder": {
    paths: ["p/sub"],
    files: { "sub/plugin.json/index.js": "" },
    says: `${AT}~/p/sub has no plugin.json; a plugin is a folder with one`,
  },
  "a path to another file": {
    paths: ["p/index.js"],
    says: `${AT}~/p/index.js is not a plugin.json; name the plugin's folder`,
  },
  "a manifest that ends too soon": {
    manifest: '{\n  "id": "p",\n',
    says: `${AT}~/p/plugin.json:3:1: not JSON: invalid end of input`,
  },
  "a manifest with a wrong character": {
    manifest: '{\n  "id": "p";\n}',
    says: `${AT}~/p/plugin.json:2:12: not JSON: invalid character ';'`,
  },
  "a manifest with a comma at the end, as JSON5 has it": {
    manifest: '{\n  "id": "p",\n}',
    says: `${AT}~/p/plugin.json:3:1: not JSON: comments, single quotes, unquoted keys and commas at an end are not allowed`,
  },
  "a manifest that begins with a comment": {
    manifest: "// mine\n{}",
    says: `${AT}~/p/plugin.json: not JSON: comments, single quotes, unquoted keys and commas at an end are not allowed`,
  },
  "a manifest that is no object": { manifest: "[]", says: `${AT}~/p/plugin.json: a list is not an object` },
  "an unknown key": {
    manifest: { preset: ["a.ts"] },
    says: `${AT}~/p/plugin.json: preset: unknown key; did you mean "presets"?`,
  },
  "an id with other characters": {
    manifest: { id: "My Plugin" },
    says: `${AT}~/p/plugin.json: id: "My Plugin" is not a name of lower-case letters, digits, - and _`,
  },
  "no id": { manifest: { id: undefined }, says: `${AT}~/p/plugin.json: id: is required` },
  "an id that another has": {
    paths: ["p", "p"],
    says: 'plugins.load.paths[1]: ~/p/plugin.json: "p" is also the id of the plugin in plugins.load.paths[0] (~/p/plugin.json)',
  },
  "the id of the built-in plugin": {
    manifest: { id: "reveille" },
    says: `${AT}~/p/plugin.json: "reveille" is the id of the built-in plugin; the plugin needs another`,
  },
  "neither an entry nor presets": {
    manifest: { entry: undefined },
    says: `${AT}~/p/plugin.json: neither "entry" nor "presets" is there; name the module with the class, or those with the presets`,
  },
  "a list of presets that is empty": {
    manifest: { presets: [] },
    says: `${AT}~/p/plugin.json: presets: is empty`,
  },
  "no range of the plugin API": {
    manifest: { pluginApi: undefined },
    says: `${AT}~/p/plugin.json: pluginApi: is required`,
  },
  "a number in the place of a range": {
    manifest: { pluginApi: 1 },
    says: `${AT}~/p/plugin.json: pluginApi: 1 is not a version range such as "^1.1"`,
  },
  "what is no range": {
    manifest: { pluginApi: "latest" },
    says: `${AT}~/p/plugin.json: pluginApi: "latest" is not a version range; write one such as "^1.1"`,
  },
  "a blank in the place of a range": {
    manifest: { pluginApi: " " },
    says: `${AT}~/p/plugin.json: pluginApi: " " is not a version range; write one such as "^1.1"`,
  },
  "a newer plugin API than the gateway's": {
    manifest: { pluginApi: "^2" },
    says:
      `${AT}~/p/plugin.json: pluginApi: the plugin asks for plugin API ^2, and this gateway has 1.1.0: the gateway is ` +
      "the older one; update it, or install an older version of the plugin",
  },
  "an older plugin API than the gateway's": {
    manifest: { pluginApi: "0.9" },
    says:
      `${AT}~/p/plugin.json: pluginApi: the plugin asks for plugin API 0.9, and this gateway has 1.1.0: the plugin is ` +
      "the older one; install a newer version of it",
  },
  "a lifecycle hook that no host has": {
    manifest: { lifecycle: ["onStart"] },
    says: `${AT}~/p/plugin.json: lifecycle[0]: "onStart" is not one of onConfigLoad, onHttpRoute, onShutdown`,
  },
  "a configSchema that is no object": {
    manifest: { configSchema: true },
    says: `${AT}~/p/plugin.json: configSchema: true is not a JSON Schema object`,
  },
  "a configSchema that is no schema": {
    manifest: { configSchema: { pattern: "(" } },
    says: `${AT}~/p/plugin.json: configSchema is not a JSON Schema: Invalid regular expression: /(/u: Unterminated group`,
  },
  "a configSchema whose keywords cannot be understood, each": {
    manifest: {
      configSchema: {
        type: "objekt",
        properties: { url: { type: "string", minLength: "1" }, at: { $ref: "#/$defs/att" } },
        required: "url",
      },
    },
    says: [
      `${AT}~/p/plugin.json: configSchema is not a JSON Schema: type: "objekt" is not one of array, boolean, integer, null, number, object, string, or a list of these`,
      `${AT}~/p/plugin.json: configSchema is not a JSON Schema: properties.url.minLength: "1" is not a whole number from 0`,
      `${AT}~/p/plugin.json: configSchema is not a JSON Schema: required: "url" is not a list of strings`,
      `${AT}~/p/plugin.json: configSchema is not a JSON Schema: properties.at.$ref: "#/$defs/att" is not the place of a schema in this one`,
    ],
  },
  "a configSchema without a class": {
    manifest: { ...PRESETS, presets: ["a.js"], configSchema: {} },
    files: { "a.js": presetText("a") },
    says: `${AT}~/p/plugin.json: configSchema has no use without "entry": there is no class that would be given the options`,
  },
};

const FILES: Readonly<Record<string, Refusal>> = {
  "an entry that is missing": {
    manifest: { entry: "none.js" },
    says: `${AT}~/p/plugin.json: entry "none.js" does not exist in the plugin's folder`,
  },
  "an entry outside of the folder": {
    manifest: { entry: "../other.js" },
    says: `${AT}~/p/plugin.json: entry "../other.js" lies outside; it has to be a file in the plugin's folder`,
  },
  "an entry by an absolute path": {
    manifest: { entry: "/etc/hostname" },
    says: `${AT}~/p/plugin.json: entry "/etc/hostname" lies outside; it has to be a file in the plugin's folder`,
  },
  "an entry that leads outside by a link": {
    manifest: { entry: "link.js" },
    change: (path) => symlinkSync("/etc/hostname", join(path, "p/link.js")),
    says: `${AT}~/p/plugin.json: entry "link.js" leads outside by a link; it has to be a file in the plugin's folder`,
  },
  "an entry that is a link to nothing": {
    manifest: { entry: "link.js" },
    change: (path) => symlinkSync(join(path, "p/none.js"), join(path, "p/link.js")),
    says: `${AT}~/p/plugin.json: entry "link.js" cannot be resolved (a link to nothing); it has to be a file in the plugin's folder`,
  },
  "an entry that is a folder": {
    manifest: { entry: "." },
    says: `${AT}~/p/plugin.json: entry "." is not a file`,
  },
  "modules of presets that cannot be had, each": {
    manifest: { presets: ["none.ts", "../x.ts", "sub"] },
    change: (path) => mkdirSync(join(path, "p/sub")),
    says: [
      `${AT}~/p/plugin.json: presets[0] "none.ts" does not exist in the plugin's folder`,
      `${AT}~/p/plugin.json: presets[1] "../x.ts" lies outside; it has to be a file in the plugin's folder`,
      `${AT}~/p/plugin.json: presets[2] "sub" is not a file`,
    ],
  },
};

const SETTINGS: Readonly<Record<string, Refusal>> = {
  "settings for an id that no plugin has": {
    entries: { far: {}, pp: {} },
    says: [
      "plugins.entries.far: is the id of no plugin in plugins.load.paths; add its folder there",
      'plugins.entries.pp: is the id of no plugin in plugins.load.paths; did you mean "p"?',
    ],
  },
  "settings for the built-in plugin": {
    entries: { reveille: {} },
    says: 'plugins.entries.reveille: is the built-in plugin; its settings are "hooks"',
  },
  "options that do not fit the plugin's schema, without showing them": {
    manifest: { configSchema: { properties: { key: { type: "number" } } } },
    entries: { p: { config: { key: "sk-secret" } } },
    says: "plugins.entries.p.config.key: the value is not a number",
  },
  "options of a plugin that brings presets only": {
    manifest: { ...PRESETS, presets: ["a.js"] },
    files: { "a.js": presetText("a") },
    entries: { p: { config: { key: "sk-secret" } } },
    says: `${AT}~/p/plugin.json: the plugin brings presets only and takes no options; remove plugins.entries.p.config`,
  },
};

const CASES: readonly (readonly [string, Readonly<Record<string, Refusal>>])[] = [
  ["for its folder or manifest", FOLDERS_AND_MANIFESTS],
  ["for a file it names", FILES],
  ["for its module", MODULES],
  ["for a preset", PRESET_MODULES],
  ["for what the configuration says of it", SETTINGS],
];

describe.each(CASES)("a plugin is refused %s:", (_why, cases) => {
  it.each(Object.entries(cases))(
    "%s",
    async (_case, { manifest = {}, files = {}, paths = ["p"], entries, ...wrong }) => {
      using folder = new PluginFolder();
      folder.plugin("p", manifest, files);
      wrong.change?.(folder.path);
      const given = paths.map((path) => join(folder.path, path));
      expect(await folder.refusal(given, entries)).toEqual([wrong.says].flat());
    },
  );
});

it("a plugin is refused for a preset that has the name of another plugin's", async () => {
  using folder = new PluginFolder();
  const [one, two] = ["one", "two"].map((name) =>
    folder.plugin(name, { ...PRESETS, presets: ["same.js"] }, { "same.js": presetText("same") }),
  );
  expect(await folder.refusal([one!, two!])).toEqual([
    'plugins.load.paths[1]: ~/two/same.js: the preset "same" has the name of one of the plugin "one" (~/one/same.js); give it another name',
  ]);
});

it("docs/extend/writing-a-plugin.md quotes messages as they are", () => {
  const said = CASES.flatMap(([, cases]) => Object.values(cases).flatMap(({ says }) => says)).join("\n");
  const [, section = ""] = readDocPage("docs/extend/writing-a-plugin.md").text.split("\n## When a plugin is refused\n");
  const quoted = tableRows(section.split("\n## ", 1).join("")).map(([message = ""]) => message);
  expect(quoted.length).toBeGreaterThan(15);
  expect(quoted.filter((message) => !said.includes(message))).toEqual([]);
});

it("docs/extend/writing-a-plugin.md names the version of the plugin API", () => {
  expect(readDocPage("docs/extend/writing-a-plugin.md").text).toContain(`This gateway has ${PLUGIN_API}.`);
});
