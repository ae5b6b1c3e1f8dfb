import type { PresetSettings } from "../../config/preset-part.ts";

/** The values of a setting as texts, several for a secret in rotation; none when it is not set or empty. */
export function settingValues(settings: PresetSettings, name: string): readonly string[] {
  const value = Object.hasOwn(settings, name) ? settings[name] : undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values
    .filter(isScalar)
    .map(String)
    .filter((text) => text !== "");
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
