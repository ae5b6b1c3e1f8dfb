import { createHash, timingSafeEqual } from "node:crypto";
import type { Handshake } from "../../config/handshake.ts";
import type { PresetSettings } from "../../config/preset.ts";
import { compilePath, lookup } from "../../core/payload-path.ts";
import { compileSource, splitSource } from "../value-source.ts";
import type { RequestView } from "../verifier.ts";
import { checkSource, type HandshakeRequest, settingValues } from "./context.ts";

/** Characters that JSON and forms both write as they are. */
const WRITTEN_AS_IS = /^[\w.-]+$/;

/**
 * Bytes that a body must hold to satisfy the conditions about it, so that the bodies of ordinary
 * events are not parsed only to find that they are no handshake. A sender that escapes letters which
 * need no escape is not recognized: none does.
 */
function bodyHints(conditions: readonly (readonly [string, HandshakeCondition])[]): readonly string[] {
  const hints = new Set<string>();
  for (const [source, condition] of conditions) {
    if (condition === false) continue;
    for (const step of compilePath(splitSource(source).name)) {
      // The key under which a body that is text is found is not in the text.
      if (typeof step === "string" && step !== "text" && WRITTEN_AS_IS.test(step)) hints.add(step);
    }
    if (typeof condition === "string" && WRITTEN_AS_IS.test(condition)) hints.add(condition);
  }
  return [...hints];
}

/** True when the body holds all hints. */
function holdsHints(body: Uint8Array, hints: readonly string[]): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return hints.every((hint) => bytes.includes(hint));
}

/** True when a request of the handshake's method has its shape. */
export type ShapeTest = (request: HandshakeRequest) => boolean;

/** Compiles what a handshake is recognized by. The body is parsed only when everything else is right. */
export function compileShape(handshake: Handshake, settings: PresetSettings): ShapeTest {
  const { method = "POST", verified, onlyKeys, emptyBody = false } = handshake;
  refuseAnyRequest(handshake);
  const conditions = Object.entries(handshake.when ?? {});
  const inBody = conditions.filter(([source]) => splitSource(source).kind === "body");
  const inHead = conditions.filter((entry) => !inBody.includes(entry));
  const headTests = inHead.map(([source, condition]) => compileWhen(source, condition, settings));
  const bodyTests = inBody.map(([source, condition]) => compileWhen(source, condition, settings));
  const hints = bodyHints(inBody);
  const keys = onlyKeys && new Set(onlyKeys);
  const bodyKeys = method === "POST" ? keys : undefined;
  const queryKeys = method === "POST" ? undefined : keys;
  const mustBeEmpty = emptyBody || (!verified && method !== "POST");

  return ({ call, view }) => {
    if (mustBeEmpty && call.body.length > 0) return false;
    if (!headTests.every((test) => test(view))) return false;
    if (!holdsHints(call.body, hints)) return false;
    if (!verified && repeatsName(call.target, view)) return false;
    if (queryKeys !== undefined && !hasOnly(view.query, queryKeys)) return false;
    if (!bodyTests.every((test) => test(view))) return false;
    return bodyKeys === undefined || hasOnly(view.payload, bodyKeys);
  };
}

/** A property that no event has: without one, a handshake would take the events of its route. */
function refuseAnyRequest({ method = "POST", when = {}, onlyKeys, emptyBody }: Handshake): void {
  const isBare = emptyBody === true || onlyKeys?.length === 0;
  const isMarked = Object.values(when).some((condition) => condition !== false);
  if (method === "POST" && !isBare && !isMarked) throw new TypeError("every POST would be taken for it");
}

/** Which value of a repeated name counts is for each reader to guess; no sender repeats one. */
function repeatsName(target: string, { query }: RequestView): boolean {
  const mark = target.indexOf("?");
  if (mark === -1) return false;
  return new URLSearchParams(target.slice(mark + 1)).size !== Object.keys(query).length;
}

function hasOnly(value: unknown, keys: ReadonlySet<string>): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.keys(value).every((key) => keys.has(key));
}

export type HandshakeCondition = NonNullable<Handshake["when"]>[string];

/** True when a request holds what a condition says. */
type ConditionTest = (view: RequestView) => boolean;

/** Compiles one entry of `when`; throws a TypeError for a place that there is none of. */
function compileWhen(source: string, condition: HandshakeCondition, settings: PresetSettings): ConditionTest {
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

/** Digests have one length, so that neither the time nor an error reveals anything of the secret. */
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
