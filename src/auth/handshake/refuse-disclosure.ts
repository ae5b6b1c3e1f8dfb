import type { Handshake } from "../../config/handshake-schema.ts";
import { splitPlaceholders } from "../placeholders.ts";
import type { Condition } from "./compile-condition.ts";
import type { HandshakeContext } from "./handshake-context.ts";
import { settingValues } from "./setting-values.ts";

/**
 * Throws a TypeError for a reply that would tell a secret: a setting that requests are compared with,
 * or one that has the value of a secret of the route. Computed values may be made of either.
 */
export function refuseDisclosure({ when = {}, reply }: Handshake, { secrets, settings }: HandshakeContext): void {
  const { text = "", json = {}, headers = {} } = reply;
  const compared = new Set(Object.values(when).map(comparedSetting));
  for (const written of [text, ...Object.values(json).flat(), ...Object.values(headers)]) {
    for (const name of settingsIn(String(written))) {
      const isSecret = settingValues(settings, name).some((value) => secrets.includes(value));
      if (isSecret || compared.has(name)) throw new TypeError(`its reply would tell the secret setting "${name}"`);
    }
  }
}

function comparedSetting(condition: Condition): string | undefined {
  return typeof condition === "object" && !Array.isArray(condition) ? condition.setting : undefined;
}

function settingsIn(text: string): readonly string[] {
  return splitPlaceholders(text).flatMap((part) =>
    typeof part === "object" && part.name === "setting" ? [part.argument] : [],
  );
}
