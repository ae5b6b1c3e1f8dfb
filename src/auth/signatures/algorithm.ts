import {
  createHmac,
  createPublicKey,
  createSecretKey,
  hash,
  type KeyObject,
  timingSafeEqual,
  verify,
} from "node:crypto";
import type { SignatureAuth } from "../../config/auth/schema.ts";
import type { Algorithm } from "../../config/auth/schema.ts";
import { compileRequestSource, type SignedInput } from "./request-source.ts";
import { decodeBytes, decodeKeyBase64 } from "./decode-bytes.ts";

/** The operations of one algorithm. */
export interface AlgorithmSpec {
  readonly family: "hmac" | "digest" | "public";
  /** Name for node:crypto; `undefined` when the algorithm has its own. */
  readonly hash: "sha1" | "sha256" | "sha512" | undefined;
  /** Bytes of a signature; `undefined` when they vary. */
  readonly size: number | undefined;
  readonly keyType: "ed25519" | "rsa" | "ec" | undefined;
}

export const ALGORITHM_SPECS: Readonly<Record<Algorithm, AlgorithmSpec>> = {
  "hmac-sha1": { family: "hmac", hash: "sha1", size: 20, keyType: undefined },
  "hmac-sha256": { family: "hmac", hash: "sha256", size: 32, keyType: undefined },
  "hmac-sha512": { family: "hmac", hash: "sha512", size: 64, keyType: undefined },
  sha1: { family: "digest", hash: "sha1", size: 20, keyType: undefined },
  sha256: { family: "digest", hash: "sha256", size: 32, keyType: undefined },
  ed25519: { family: "public", hash: undefined, size: 64, keyType: "ed25519" },
  "rsa-sha1": { family: "public", hash: "sha1", size: undefined, keyType: "rsa" },
  "rsa-sha256": { family: "public", hash: "sha256", size: undefined, keyType: "rsa" },
  "ecdsa-sha256": { family: "public", hash: "sha256", size: undefined, keyType: "ec" },
};

/** One key of a route, ready to verify with. */
export interface SignatureKey {
  readonly credentialId: string;
  /** The secret as text, for contents that hold it. */
  readonly text: string;
  readonly key: KeyObject;
}

/**
 * Makes a key of a secret as it is configured. Throws a TypeError, which does not hold the secret, for
 * one that is no key of the algorithm.
 */
export function compileKey(
  text: string,
  options: { readonly route: string; readonly spec: AlgorithmSpec; readonly keyEncoding: SignatureAuth["keyEncoding"] },
): SignatureKey {
  const { route, spec, keyEncoding } = options;
  const key = spec.keyType === undefined ? secretKey(text, keyEncoding) : publicKey(text, spec.keyType, keyEncoding);
  return { credentialId: credentialId(route, text), text, key };
}

/** Makes a key of a public key that came with a certificate; throws a TypeError for one of another kind. */
export function wrapPublicKey(key: KeyObject, route: string, spec: AlgorithmSpec): SignatureKey {
  const checked = checkKind(key, spec.keyType);
  return {
    credentialId: credentialId(route, checked.export({ format: "der", type: "spki" })),
    text: "",
    key: checked,
  };
}

/** Says whether one of the signatures is that of the content; takes as long for a right one as for a wrong one. */
export function matchesAny(
  spec: AlgorithmSpec,
  key: KeyObject,
  content: Uint8Array,
  signatures: readonly Uint8Array[],
): boolean {
  let isMatch = false;
  if (spec.family === "public") {
    for (const signature of signatures) {
      if (verify(spec.hash, content, key, signature)) isMatch = true;
    }
    return isMatch;
  }
  const expected = digestOf(spec, key, content);
  for (const signature of signatures) {
    if (signature.length === expected.length && timingSafeEqual(signature, expected)) isMatch = true;
  }
  return isMatch;
}

/** The HMAC or plain digest of a content; by way of text, since node:crypto takes longer to make a Buffer itself. */
export function digestOf({ family, hash: name }: AlgorithmSpec, key: KeyObject, content: Uint8Array): Buffer {
  const digest = family === "hmac" ? createHmac(name!, key).update(content).digest("hex") : hash(name!, content, "hex");
  return Buffer.from(digest, "hex");
}

/** The bytes of a shared secret. */
export function secretKey(text: string, encoding: SignatureAuth["keyEncoding"]): KeyObject {
  const bytes = secretBytes(text, encoding);
  if (bytes === undefined || bytes.length === 0) throw new TypeError(`auth.secret is not written in ${encoding}.`);
  return createSecretKey(bytes);
}

function secretBytes(text: string, encoding: SignatureAuth["keyEncoding"]): Buffer | undefined {
  switch (encoding) {
    case "utf8":
      return Buffer.from(text, "utf8");
    case "hex":
      return decodeBytes(text, "hex");
    case "base64":
      return decodeKeyBase64(text);
    case "whsec":
      return decodeKeyBase64(text.replace(/^whsec_/, ""));
    case "pem":
      return undefined;
  }
}

const RAW_ED25519_BYTES = 32;
const MIN_RSA_BITS = 2_048;

function publicKey(
  text: string,
  keyType: NonNullable<AlgorithmSpec["keyType"]>,
  encoding: SignatureAuth["keyEncoding"],
): KeyObject {
  return checkKind(parsePublicKey(text.trim(), encoding), keyType);
}

function parsePublicKey(text: string, encoding: SignatureAuth["keyEncoding"]): KeyObject {
  try {
    if (text.startsWith("-----BEGIN ")) return createPublicKey(text);
    const isHex = encoding === "hex" || (encoding === "utf8" && /^[0-9a-fA-F]{64}$/.test(text));
    const bytes = isHex ? decodeBytes(text, "hex") : decodeKeyBase64(text.replace(/^whpk_|\s+/g, ""));
    if (bytes?.length === RAW_ED25519_BYTES) {
      const x = bytes.toString("base64url");
      return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    }
    return createPublicKey({ key: bytes ?? Buffer.alloc(0), format: "der", type: "spki" });
  } catch {
    throw new TypeError("auth.secret is no public key; give it as PEM, or as the base64 that the sender shows.");
  }
}

function checkKind(key: KeyObject, keyType: AlgorithmSpec["keyType"]): KeyObject {
  if (key.asymmetricKeyType !== keyType) {
    throw new TypeError(`The public key is of the kind ${key.asymmetricKeyType}; the algorithm takes ${keyType}.`);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits < MIN_RSA_BITS) {
    throw new TypeError(`The public key has ${bits} bits; at least ${MIN_RSA_BITS} are needed.`);
  }
  return key;
}

/** Identifies a secret of a route without disclosing it: 16 hexadecimal characters. */
export function credentialId(route: string, secret: string | Uint8Array): string {
  const bytes = typeof secret === "string" ? Buffer.from(secret, "utf8") : secret;
  return hash("sha256", Buffer.concat([Buffer.from(`reveille-credential\0${route}\0`), bytes]), "hex").slice(0, 16);
}

interface AlgorithmChoice {
  /** All that may be chosen; they take the same kind of key. */
  readonly specs: readonly AlgorithmSpec[];
  readonly takesSecretInContent: boolean;
  /** The one that a request is signed with; `undefined` when it names none of them. */
  choose(input: SignedInput): AlgorithmSpec | undefined;
}

/**
 * Compiles the algorithm of a scheme. Throws a TypeError for a choice between kinds of keys: who may
 * choose could have a public key, which everybody knows, taken for a shared secret.
 */
export function compileAlgorithm(algorithm: SignatureAuth["algorithm"]): AlgorithmChoice {
  if (typeof algorithm === "string") {
    const spec = ALGORITHM_SPECS[algorithm];
    return { specs: [spec], takesSecretInContent: spec.family === "digest", choose: () => spec };
  }
  const read = compileRequestSource(algorithm.from);
  const byName = new Map(Object.entries(algorithm.values).map(([name, value]) => [name, ALGORITHM_SPECS[value]]));
  const specs = [...byName.values()];
  if (specs.length === 0) throw new TypeError("auth.algorithm.values names no algorithm.");
  const { family, keyType } = specs[0]!;
  if (specs.some((spec) => spec.family !== family || spec.keyType !== keyType)) {
    throw new TypeError("auth.algorithm.values must be of one kind: their keys differ.");
  }
  return {
    specs,
    takesSecretInContent: family === "digest",
    choose: (input) => byName.get(read(input) ?? ""),
  };
}
