import { expect, it } from "vitest";
import { NO_KEYS } from "../auth/keys/remote-keys.ts";
import { compileHandshakes } from "../auth/handshake/handshake.ts";
import { AuthSchema } from "../config/auth/schema.ts";
import { HandshakeSchema } from "../config/handshake.ts";
import type { PresetSettings } from "../config/preset.ts";
import { compileSchemaCheck } from "../config/schema-check.ts";
import type { Preset } from "../presets/preset.ts";

const checkAuth = compileSchemaCheck(AuthSchema);
const checkHandshake = compileSchemaCheck(HandshakeSchema);

/** The data of the preset: values that an operator could have written, and texts for people. */
export function describeForm(preset: Preset, settings: PresetSettings): void {
  it("has a scheme, as data that a configuration could hold", () => {
    expect(checkAuth(preset.auth(settings))).toEqual([]);
    // The secret comes from the configuration.
    expect(preset.auth(settings).secret).toBeUndefined();
  });

  it("has handshakes that can be compiled", () => {
    expect(preset.handshakes.flatMap((handshake) => checkHandshake(handshake))).toEqual([]);
    const context = { route: preset.name, secrets: ["0123456789abcdef"], settings, ...NO_KEYS };
    expect(() => compileHandshakes(preset.handshakes, context)).not.toThrow();
  });

  it("takes the settings that it was given here", () => {
    const { settings: schema } = preset;
    expect(schema === undefined ? Object.keys(settings) : compileSchemaCheck(schema)(settings)).toEqual([]);
    const known = Object.keys(schema?.properties ?? {});
    expect(preset.secretSettings.filter((name) => !known.includes(name))).toEqual([]);
  });

  it("says where the URL and the secret are to be pasted", () => {
    const steps = preset.setup.join("\n");
    expect(steps).toContain("{url}");
    if (preset.secret?.required === true) expect(steps).toContain("{secret}");
  });

  it("keeps within what an answer may be", () => {
    const { maxBodyBytes = 262_144, name = preset.title } = preset.mapping(settings);
    expect(maxBodyBytes).toBeLessThanOrEqual(67_108_864);
    expect(name.trim()).not.toBe("");
  });
}
