import type { Handshake } from "../../config/handshake-schema.ts";
import type { PresetSettings } from "../../config/preset-part.ts";
import { splitSource } from "../value-source.ts";
import type { RequestView } from "../verifier.ts";
import { bodyHints, holdsHints } from "./body-hints.ts";
import { compileCondition } from "./compile-condition.ts";
import type { HandshakeRequest } from "./handshake-request.ts";

/** Whether a request of the handshake's method has its shape. */
export type ShapeTest = (request: HandshakeRequest) => boolean;

/** Compiles what a handshake is recognized by. The body is parsed only when everything else is right. */
export function compileShape(handshake: Handshake, settings: PresetSettings): ShapeTest {
  const { method = "POST", verified, onlyKeys, emptyBody = false } = handshake;
  refuseAnyRequest(handshake);
  const conditions = Object.entries(handshake.when ?? {});
  const inBody = conditions.filter(([source]) => splitSource(source).kind === "body");
  const inHead = conditions.filter((entry) => !inBody.includes(entry));
  const headTests = inHead.map(([source, condition]) => compileCondition(source, condition, settings));
  const bodyTests = inBody.map(([source, condition]) => compileCondition(source, condition, settings));
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

/** What no event is like: without that, a handshake would take the events of its route. */
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
