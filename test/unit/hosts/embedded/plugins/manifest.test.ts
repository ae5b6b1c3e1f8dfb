import semver from "semver";
import { expect, it } from "vitest";
import { PLUGIN_API } from "../../../../../src/hosts/embedded/plugins/manifest.ts";
import { pluginApiProblem } from "../../../../../src/hosts/embedded/plugins/manifest.ts";

it("the plugin API has a version of its own", () => {
  expect(semver.valid(PLUGIN_API)).toBe(PLUGIN_API);
});

it.each(["1", "^1", "^1.1", "1.1", ">=1.0 <2", ">=1.0", "*", "1.0 || ^1.1", "^1.1.0"])(
  "version 1.1.0 of the plugin API meets %s",
  (range) => {
    expect(pluginApiProblem(range, "1.1.0")).toBeUndefined();
  },
);

it.each([
  ["1.0", "the plugin is the older one"],
  ["~1.0.3", "the plugin is the older one"],
  ["<1", "the plugin is the older one"],
  ["^1.2", "the gateway is the older one"],
  ["2", "the gateway is the older one"],
  ["1.0 || 2", "install another version of the plugin"],
])("version 1.1.0 of the plugin API does not meet %s: %s", (range, reason) => {
  const said = pluginApiProblem(range, "1.1.0");
  expect(said).toContain(`asks for plugin API ${range}, and this gateway has 1.1.0`);
  expect(said).toContain(reason);
});

it.each(["latest", "one", "1.x.y.z", "^", "", " ", "||", "1 ||", "|| 1"])("%j is no range of versions", (range) => {
  expect(pluginApiProblem(range, "1.1.0")).toBe(
    `${JSON.stringify(range)} is not a version range; write one such as "^1.1"`,
  );
});
