import { createPublicKey } from "node:crypto";
import type { SignatureAuth } from "./auth-config.ts";
import type { Algorithm } from "./auth-schema.ts";

const KEY_BYTES_OF_ED25519 = 32;
/** Fewer cannot be a key that somebody made for this (Standard Webhooks 1.0.0 has 24 to 64). */
const MIN_WHSEC_BYTES = 16;

/** The algorithms that requests may be signed with. */
export function algorithmsOf(algorithm: SignatureAuth["algorithm"]): readonly Algorithm[] {
  return typeof algorithm === "string" ? [algorithm] : Object.values(algorithm.values);
}

/** True for algorithms whose key is public. */
export function isPublicKeyAlgorithm(algorithm: Algorithm): boolean {
  return KEY_TYPES.has(algorithm);
}

/** What a public key must be, by algorithm, and what it is called. */
const KEY_TYPES: ReadonlyMap<Algorithm, { readonly type: string; readonly title: string }> = new Map([
  ["ed25519", { type: "ed25519", title: "an Ed25519" }],
  ["rsa-sha1", { type: "rsa", title: "an RSA" }],
  ["rsa-sha256", { type: "rsa", title: "an RSA" }],
  ["ecdsa-sha256", { type: "ec", title: "an elliptic-curve" }],
]);

/** The key encodings of an algorithm in words, when the one given is none of them. */
export function keyEncodingsFor(algorithm: Algorithm, keyEncoding: SignatureAuth["keyEncoding"]): string | undefined {
  if (algorithm.startsWith("rsa") || algorithm.startsWith("ecdsa")) return keyEncoding === "pem" ? undefined : "pem";
  if (algorithm === "ed25519") return keyEncoding === "utf8" ? "hex, base64, whsec or pem" : undefined;
  return keyEncoding === "pem" ? "utf8, hex, base64 or whsec" : undefined;
}

/** Why a key is none of the form that `keyEncoding` and the algorithm say; never holds any part of it. */
export function keyProblem(
  value: string,
  { algorithm, keyEncoding }: Pick<SignatureAuth, "algorithm" | "keyEncoding">,
): string | undefined {
  const algorithms = algorithmsOf(algorithm);
  // With an encoding that does not suit, there is no telling what the key should look like.
  if (algorithms.some((name) => keyEncodingsFor(name, keyEncoding) !== undefined)) return undefined;
  const needed = algorithms.map((name) => KEY_TYPES.get(name));
  if (keyEncoding === "pem") {
    const type = publicKeyType(value);
    if (type === undefined) return "is not a public key in PEM; paste it whole, with its first and last line";
    const wrong = needed.find((key) => key !== undefined && key.type !== type);
    return wrong && `is not ${wrong.title} key`;
  }
  if (keyEncoding === "utf8") return undefined;
  const bytes = keyEncoding === "hex" ? bytesOfHex(value) : bytesOfBase64(value.replace(WHSEC_PREFIX, ""));
  if (bytes === undefined) return `is not ${TITLES[keyEncoding]}`;
  if (needed.some((key) => key !== undefined)) {
    return bytes === KEY_BYTES_OF_ED25519
      ? undefined
      : `is not an Ed25519 key: those have ${KEY_BYTES_OF_ED25519} bytes`;
  }
  if (keyEncoding !== "whsec" || bytes >= MIN_WHSEC_BYTES) return undefined;
  return `has fewer than ${MIN_WHSEC_BYTES} bytes; make one with: echo "whsec_$(openssl rand -base64 24)"`;
}

const WHSEC_PREFIX = /^wh(?:sec|pk)_/;
const TITLES = { hex: "hex: pairs of 0-9 and a-f", base64: "base64", whsec: "base64 after whsec_" } as const;

function bytesOfHex(text: string): number | undefined {
  return /^(?:[\dA-Fa-f]{2})+$/.test(text) ? text.length / 2 : undefined;
}

/** Bytes that base64 of either alphabet stands for, with or without its padding. */
function bytesOfBase64(text: string): number | undefined {
  const digits = text.replace(/={1,2}$/, "");
  if (!/^[\w+/-]+$/.test(digits) || digits.length % 4 === 1) return undefined;
  return Math.floor((digits.length * 3) / 4);
}

/** The type of a public key: PEM, or the base64 between its lines. */
function publicKeyType(text: string): string | undefined {
  try {
    if (text.includes("-----BEGIN")) return createPublicKey(text).asymmetricKeyType;
    if (bytesOfBase64(text.replaceAll(/\s/g, "")) === undefined) return undefined;
    return createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" }).asymmetricKeyType;
  } catch {
    return undefined;
  }
}
