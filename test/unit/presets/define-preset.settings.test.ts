import Type from "typebox";
import { describe, expect, it } from "vitest";
import { definePreset } from "../../../src/presets/define-preset.ts";
import type { PresetDefinition } from "../../../src/presets/define-preset.ts";
import { schemeName } from "../../../src/presets/preset.ts";
import type { PresetSettings } from "../../../src/config/preset.ts";
import { PresetRegistry } from "../../../src/presets/registry.ts";
import { readHooksConfig } from "../../../src/config/read-hooks.ts";
import { context } from "../config/hooks-context.ts";
import * as sinclair from "../../fixtures/sinclair-typebox.ts";

const presetWith = (settings: PresetDefinition["settings"]) =>
  definePreset({
    name: "acme",
    title: "Acme",
    documentation: "https://acme.example.com/webhooks",
    auth: { scheme: "token" },
    settings,
    message: () => "Something happened.",
    samples: { event: { payload: {} } },
    setup: ["Paste {url}."],
  });

const schemas = {
  typebox: Type.Object({ plan: Type.String({ minLength: 2 }) }, { additionalProperties: false }),
  "@sinclair/typebox": sinclair.object({ plan: sinclair.string({ minLength: 2 }) }, { additionalProperties: false }),
};

describe.each(Object.entries(schemas))("settings of a preset whose schema is made with %s", (_name, schema) => {
  const read = (acme: object) => {
    const registry = new PresetRegistry();
    registry.add(presetWith(schema));
    return readHooksConfig(
      { enabled: true, token: "a-hook-token-of-the-settings-tests", presets: ["acme"], acme },
      { ...context(), presets: registry.all() },
    ).config;
  };

  it("are taken as they are written", () => {
    expect(read({ plan: "gold" }).mappings[0]?.settings).toEqual({ plan: "gold" });
  });

  it("are refused with their place when they are wrong, missing or unknown", () => {
    expect(() => read({ plan: "x" })).toThrow(/^hooks\.acme\.plan: /u);
    expect(() => read({})).toThrow(/^hooks\.acme\.plan: is required/mu);
    expect(() => read({ plan: "gold", plam: "x" })).toThrow(/hooks\.acme\.plam: unknown key; did you mean "plan"\?/u);
  });
});

describe("a function of settings that throws", () => {
  const made = (parts: Partial<PresetDefinition>) => {
    const { name, title, documentation, samples, setup } = presetWith(
      Type.Object({ region: Type.Optional(Type.String()) }),
    );
    const message = (): string => "Something happened.";
    return definePreset({ name, title, documentation, samples, setup, message, auth: { scheme: "token" }, ...parts });
  };
  const header = ({ region }: PresetSettings) => `header:x-${(region as string).toLowerCase()}`;

  it.each<[string, Partial<PresetDefinition>]>([
    ["auth", { auth: (settings) => ({ from: header(settings) }) }],
    ["mapping", { mapping: (settings) => ({ name: header(settings) }) }],
  ])("refuses the configuration by the key of the preset: %s", (what, parts) => {
    const presets = new Map([["acme", made(parts)]]);
    const block = { enabled: true, token: "a-hook-token-of-the-settings-tests", presets: ["acme"] };
    expect(() => readHooksConfig(block, { ...context(), presets })).toThrow(
      new RegExp(`^hooks\\.acme: the preset cannot make its ${what} of these settings: Cannot read properties`, "u"),
    );
  });

  it("keeps no list of presets from being shown", () => {
    expect(schemeName(made({ auth: (settings) => ({ from: header(settings) }) }))).toBe("as its settings say");
  });
});
