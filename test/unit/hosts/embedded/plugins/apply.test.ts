import { describe, expect, it } from "vitest";
import { findConfigError } from "../../../../../src/config/errors.ts";
import { applyPlugin } from "../../../../../src/hosts/embedded/plugins/load.ts";
import { WebhookIngress } from "../../../../../src/index.ts";
import { PresetRegistry } from "../../../../../src/presets/registry.ts";
import { PluginFolder, presetText } from "./plugin-folder.ts";
import { pluginHost } from "./plugin-host.ts";

/** Loads one plugin and applies it; gives back what the log then says. */
async function applied(folder: PluginFolder, manifest: object, text: string) {
  const { host, lines } = pluginHost();
  const [loaded] = await folder.load([folder.plugin("p", manifest, { "index.js": text })]);
  applyPlugin(loaded!, host);
  return { host, loaded, warnings: lines.map(({ message }) => message.replaceAll(folder.path, "~")) };
}

const classThat = (body: string): string => `export default class { apply(host) { ${body} } }`;
const tap = (hook: string): string => `host.lifecycle.${hook}.tap("p", () => {});`;

describe("applyPlugin", () => {
  it("gives the plugin the host", async () => {
    using folder = new PluginFolder();
    const { host, loaded } = await applied(folder, {}, classThat("this.host = host;"));
    expect(loaded?.plugin).toMatchObject({ host: { name: "test" } });
    expect((loaded!.plugin as { host?: unknown }).host).toBe(host);
  });

  it.each([
    ["throw 'not today';", "not today"],
    [
      "return Promise.reject(new Error('late'));",
      "apply returned a promise, which is not awaited; tap at once, and do the rest in onConfigLoad",
    ],
    [
      "host.lifecycle.onConfigLoad.tap('p', async () => {});",
      'Hook "onConfigLoad", tap "p": an async function was tapped with tap(); use tapPromise() so that it is awaited.',
    ],
  ])("reports under the plugin's id and with its file what is wrong with apply: %s", async (body, reason) => {
    using folder = new PluginFolder();
    await expect(applied(folder, {}, classThat(body))).rejects.toThrow(
      `plugins.entries.p: ${folder.path}/p/index.js: the plugin could not be applied: ${reason}`,
    );
  });

  it("warns of a lifecycle hook that is tapped and not listed, or listed and not tapped", async () => {
    using folder = new PluginFolder();
    const { warnings } = await applied(
      folder,
      { lifecycle: ["onConfigLoad", "onShutdown"] },
      classThat(tap("onShutdown") + tap("onHttpRoute")),
    );
    expect(warnings.toSorted()).toEqual([
      '~/p/plugin.json: "lifecycle" lists onConfigLoad, which the plugin does not tap; remove it there',
      '~/p/plugin.json: the plugin taps onHttpRoute, which "lifecycle" does not list; add it there',
    ]);
  });

  it.each([
    ["lists what it taps", { lifecycle: ["onHttpRoute"] }],
    ["lists nothing", {}],
  ])("says nothing of a plugin that %s", async (_case, manifest) => {
    using folder = new PluginFolder();
    expect((await applied(folder, manifest, classThat(tap("onHttpRoute")))).warnings).toEqual([]);
  });

  it("adds the presets of the manifest before the class adds its own, for every configuration", async () => {
    using folder = new PluginFolder();
    const path = folder.plugin(
      "p",
      { presets: ["one.js"] },
      {
        "one.js": presetText("one"),
        "index.js": `import { definePreset, WebhookIngress } from "reveille";
          export default class {
            apply(host) {
              WebhookIngress.hooks(host).presets.tap("p", (registry) => {
                registry.add({ ...registry.get("one"), name: "two" });
              });
            }
          }`,
      },
    );
    const { host } = pluginHost();
    const [loaded] = await folder.load([path]);
    applyPlugin(loaded!, host);
    for (const registry of [new PresetRegistry(), new PresetRegistry()]) {
      WebhookIngress.hooks(host).presets.call(registry);
      expect([...registry.all().keys()]).toEqual(["one", "two"]);
    }
  });

  it("refuses a configuration in which a preset has the name of a built-in one", async () => {
    using folder = new PluginFolder();
    const path = folder.plugin("p", { entry: undefined, presets: ["g.js"] }, { "g.js": presetText("github") });
    const { host } = pluginHost();
    const [loaded] = await folder.load([path]);
    applyPlugin(loaded!, host);
    const registry = new PresetRegistry();
    WebhookIngress.hooks(host).presets.call(registry);
    try {
      WebhookIngress.hooks(host).presets.call(registry);
      expect.unreachable();
    } catch (error) {
      expect(findConfigError(error)?.message.replaceAll(folder.path, "~")).toBe(
        'plugins.entries.p: ~/p/g.js: the preset "github" has the name of a built-in one; give it another name',
      );
    }
  });
});
