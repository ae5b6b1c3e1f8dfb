import type { PresetSettings } from "../../config/preset.ts";
import { compilePath } from "../../core/payload-path.ts";
import type { Answer } from "../../http/answer.ts";
import { splitSource } from "../value-source.ts";
import type { DeliveredKeys, IncomingRequest, RemoteKeys, RequestView } from "../verifier.ts";

/** The parts that handshakes are compiled with besides their data. */
export interface HandshakeContext {
  /** The mapping's path: scopes delivered keys. */
  readonly route: string;
  /** The route's secrets as they are; the first one signs replies. */
  readonly secrets: readonly string[];
  readonly settings: PresetSettings;
  readonly remoteKeys: RemoteKeys;
  readonly deliveredKeys: DeliveredKeys;
  /** The public URL of the gateway, without a trailing slash; without it there is no `{url}`. */
  readonly publicUrl?: string | undefined;
}

/** A handshake that was recognized, and its answer. */
export interface HandshakeAnswer {
  readonly name: string;
  readonly answer: Answer;
}

/** A request while it is looked at as a handshake. */
export interface HandshakeRequest {
  readonly call: IncomingRequest;
  /** The request that sources read; its body is parsed when one of them asks for it. */
  readonly view: RequestView;
}

/** Makes a text out of a request; `undefined` when a part of it is missing or must not be repeated. */
export type ReadText = (request: HandshakeRequest) => string | undefined;

/** Throws a TypeError unless a source of a handshake names one place in a header, the query or the body. */
export function checkSource(source: string): { readonly kind: string; readonly name: string } {
  const { kind, name } = splitSource(source);
  const isKnown = kind === "header" || kind === "query" || kind === "body";
  const isOne = kind === "body" ? compilePath(name).length > 0 && !name.includes("[]") : name !== "";
  if (isKnown && isOne) return { kind, name };
  throw new TypeError(`"${source}" is no place in a header, the query or the body`);
}

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
