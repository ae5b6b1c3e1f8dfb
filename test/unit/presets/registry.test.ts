import { describe, expect, it } from "vitest";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import { definePreset } from "../../../src/presets/define-preset.ts";
import { PresetRegistry } from "../../../src/presets/registry.ts";
import type { Preset } from "../../../src/presets/preset.ts";
import { gmail } from "../../../src/presets/senders/google/gmail.ts";

const preset = (name: string): Preset =>
  definePreset({
    name,
    title: name,
    documentation: "https://example.com/webhooks",
    auth: { scheme: "token" },
    samples: { event: { payload: {} } },
    setup: ["Paste {url}."],
  });

describe("the presets of a configuration", () => {
  it("are found by their name, in the order in which they were added", () => {
    const registry = new PresetRegistry();
    const [github, stripe] = [preset("github"), preset("stripe")];
    registry.add(stripe);
    registry.add(github);
    expect(registry.get("github")).toBe(github);
    expect(registry.get("stripe")).toBe(stripe);
    expect([...registry.all().keys()]).toEqual(["stripe", "github"]);
  });

  it("are none that definePreset has not made", () => {
    const definition = { name: "acme", auth: { scheme: "token" }, mapping: { name: "Acme" } } as unknown as Preset;
    expect(() => new PresetRegistry().add(definition)).toThrow('"acme" is no preset yet: add what definePreset makes');
  });

  it("are none at first, not even under inherited names", () => {
    const registry = new PresetRegistry();
    for (const name of ["gmail", "constructor", "__proto__", ""]) expect(registry.get(name)).toBeUndefined();
    expect(registry.all().size).toBe(0);
  });

  it("have names of their own: a second one of the same name is refused and the first one stays", () => {
    const registry = new PresetRegistry();
    const first = preset("github");
    registry.add(first);
    expect(() => registry.add(preset("github"))).toThrow('A preset named "github" is already there.');
    expect(registry.get("github")).toBe(first);
  });

  it("spec 2.1: one is built in, for the notifications of a mail provider", () => {
    expect(BUILT_IN_PRESETS).toContain(gmail);
  });

  it("that are built in have names of their own, all of which a registry takes", () => {
    const registry = new PresetRegistry();
    for (const builtIn of BUILT_IN_PRESETS) registry.add(builtIn);
    expect(registry.all().size).toBe(BUILT_IN_PRESETS.length);
    expect(registry.all().size).toBeGreaterThanOrEqual(46);
  });
});
