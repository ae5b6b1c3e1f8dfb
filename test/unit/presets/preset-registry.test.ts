import { describe, expect, it } from "vitest";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in-presets.ts";
import { gmail } from "../../../src/presets/gmail.ts";
import { PresetRegistry } from "../../../src/presets/preset-registry.ts";
import type { Preset } from "../../../src/presets/preset.ts";

const preset = (name: string): Preset => ({ name, mappings: () => [] });

describe("the presets of a configuration", () => {
  it("are found by their name, in the order in which they were added", () => {
    const registry = new PresetRegistry();
    const [github, stripe] = [preset("github"), preset("stripe")];
    registry.add(stripe);
    registry.add(github);
    expect(registry.get("github")).toBe(github);
    expect(registry.get("stripe")).toBe(stripe);
    expect(registry.names()).toEqual(["stripe", "github"]);
  });

  it("are none at first, not even under inherited names", () => {
    const registry = new PresetRegistry();
    for (const name of ["gmail", "constructor", "__proto__", ""]) expect(registry.get(name)).toBeUndefined();
    expect(registry.names()).toEqual([]);
  });

  it("have names of their own: a second one of the same name is refused and the first one stays", () => {
    const registry = new PresetRegistry();
    const first = preset("github");
    registry.add(first);
    expect(() => registry.add(preset("github"))).toThrow('A preset named "github" is already there.');
    expect(registry.get("github")).toBe(first);
  });

  it("spec 2.1: one is built in, for the notifications of a mail provider", () => {
    expect(BUILT_IN_PRESETS).toEqual([gmail]);
  });
});
