import { createHash, timingSafeEqual } from "node:crypto";
import type { Handshake } from "../../config/handshake-schema.ts";
import type { PresetSettings } from "../../config/preset-part.ts";
import { compilePath, lookup } from "../../core/payload-path.ts";
import { compileSource } from "../value-source.ts";
import type { RequestView } from "../verifier.ts";
import { checkSource } from "./handshake-source.ts";
import { settingValues } from "./setting-values.ts";

export type Condition = NonNullable<Handshake["when"]>[string];

/** Whether a request holds what a condition says. */
export type ConditionTest = (view: RequestView) => boolean;

/** Compiles one entry of `when`; throws a TypeError for a place that there is none of. */
export function compileCondition(source: string, condition: Condition, settings: PresetSettings): ConditionTest {
  const { kind, name } = checkSource(source);
  const read = compileSource(source);
  if (typeof condition === "string") return (view) => read(view) === condition;
  if (condition === true) return (view) => (read(view) ?? "") !== "";
  if (condition === false) return kind === "body" ? isMissing(name) : (view) => read(view) === undefined;
  if (Array.isArray(condition)) {
    return (view) => {
      const value = read(view);
      return value !== undefined && condition.includes(value);
    };
  }
  if (condition.setting !== undefined) return equalsSecret(read, settingValues(settings, condition.setting));
  if (kind !== "body") throw new TypeError(`"${source}" is never a list`);
  return isEmptyList(name);
}

/** An object or a list is something as well, although it is no text. */
function isMissing(name: string): ConditionTest {
  const path = compilePath(name);
  return ({ payload }) => lookup(payload, path) === undefined;
}

function isEmptyList(name: string): ConditionTest {
  const path = compilePath(name);
  return ({ payload }) => {
    const value = lookup(payload, path);
    return Array.isArray(value) && value.length === 0;
  };
}

/** Digests have one length, so that neither the time nor an error tells anything of the secret. */
function equalsSecret(read: (view: RequestView) => string | undefined, secrets: readonly string[]): ConditionTest {
  const digests = secrets.map(digestOf);
  return (view) => {
    const value = read(view);
    if (value === undefined) return false;
    const digest = digestOf(value);
    let isEqual = false;
    for (const known of digests) isEqual = timingSafeEqual(known, digest) || isEqual;
    return isEqual;
  };
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
