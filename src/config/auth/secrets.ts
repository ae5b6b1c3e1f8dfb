import { createPublicKey } from "node:crypto";
import type { Findings } from "../errors.ts";
import {
  type SecretInput,
  type NamedSecret,
  readSecrets,
  type ReservedSecrets,
  secretProblem,
  type SecretSources,
} from "../secrets.ts";
import type { PresetPart } from "../preset.ts";
import type { Algorithm, AuthConfig, AuthInput, SignatureAuth } from "./schema.ts";

const KEY_BYTES_OF_ED25519 = 32;
/** Standard Webhooks 1.0.0 has 24 to 64; fewer are no key. */
const MIN_WHSEC_BYTES = 16;

/** The algorithms that requests may be signed with. */
export function algorithmsOf(algorithm: SignatureAuth["algorithm"]): readonly Algorithm[] {
  return typeof algorithm === "string" ? [algorithm] : Object.values(algorithm.values);
}

/** True for algorithms whose key is public. */
export function isPublicKeyAlgorithm(algorithm: Algorithm): boolean {
  return KEY_TYPES.has(algorithm);
}

/** The name in a token of each algorithm that takes a shared secret (RFC 7518, 3.1). */
export const TOKEN_ALGORITHMS: ReadonlyMap<unknown, string> = new Map([
  ["hmac-sha256", "HS256"],
  ["hmac-sha512", "HS512"],
]);

/** The type of public key that an algorithm needs, and its name in messages. */
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

/** The reason why a key does not have the form that `keyEncoding` and the algorithm need; never holds a part of it. */
function keyProblem(
  value: string,
  { algorithm, keyEncoding }: Pick<SignatureAuth, "algorithm" | "keyEncoding">,
): string | undefined {
  const algorithms = algorithmsOf(algorithm);
  // With an unsuitable encoding the form of the key is unknown.
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

/** Number of bytes that base64 of either alphabet encodes, with or without padding. */
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

/** The authentication keys of a mapping or of `hooks.<preset>`. */
export interface WrittenAuth {
  readonly auth?: AuthInput;
  /** Short for `auth.secret`. */
  readonly secret?: SecretInput;
}

/** The sources of secrets and the values they must not have; `undefined` while hooks are off. */
export type AuthSources = (SecretSources & ReservedSecrets) | undefined;

/** The secrets of one place. */
export interface ResolvedSecrets {
  /** The key that holds them, even if they cannot be resolved; `undefined`: none. */
  readonly key: string | undefined;
  readonly values: readonly NamedSecret[];
}

/** Looks up the secrets of a place: its `secret` or its `auth.secret`. */
export function readAuthSecrets(
  { auth, secret }: WrittenAuth,
  where: string,
  sources: AuthSources,
  findings: Findings,
): ResolvedSecrets {
  if (secret !== undefined && auth?.secret !== undefined) {
    findings.refuse(`${where}.secret`, "is set twice, here and as auth.secret; remove one of them");
  }
  const input = secret ?? auth?.secret;
  if (input === undefined) return { key: undefined, values: [] };
  const key = `${where}.${secret === undefined ? "auth.secret" : "secret"}`;
  return { key, values: sources === undefined ? [] : readSecrets(input, key, sources, findings) };
}

/** The rules that apply to the secrets of an `auth`. */
export interface SecretUse {
  readonly auth: AuthConfig;
  /** User name of `basic` when the secret is the password alone. */
  readonly username: string | undefined;
  readonly preset: PresetPart | undefined;
  readonly taken: ReservedSecrets;
}

/** Refuses secrets that prove nothing: public, used elsewhere, too short, or no key. */
export function checkAuthSecrets(secrets: readonly NamedSecret[], use: SecretUse, findings: Findings): void {
  for (const { path, value } of secrets) {
    const problem = secretProblem(value, use.taken, use.preset?.secret?.known) ?? unusable(value, use);
    // The secret of a preset is judged again for each mapping that uses it.
    if (problem === undefined || findings.issues.some((issue) => issue.path === path)) continue;
    findings.refuse(path, problem);
  }
}

const MIN_SECRET_CHARACTERS = 16;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

function unusable(value: string, { auth, username, preset }: SecretUse): string | undefined {
  if (auth.scheme === "signature") {
    const problem = keyProblem(value, auth);
    if (problem !== undefined || algorithmsOf(auth.algorithm).some(isPublicKeyAlgorithm)) return problem;
    return tooShort(value, preset);
  }
  if (CONTROL.test(value)) return "holds a line break or another control character, which no sender can send";
  if (auth.scheme === "secret" && auth.from.includes("path") && !/^[\w.~-]+$/.test(value)) {
    return 'holds characters that a path carries only in escapes; use letters, digits, "-" and "_"';
  }
  if (auth.scheme !== "basic" || username !== undefined) return tooShort(value, preset);
  const colon = value.indexOf(":");
  if (colon === -1) return 'must be "<user>:<password>", unless auth.username is set';
  return tooShort(value.slice(colon + 1), preset);
}

function tooShort(value: string, preset: PresetPart | undefined): string | undefined {
  const minLength = preset?.secret?.minLength ?? MIN_SECRET_CHARACTERS;
  if (value.length >= minLength) return undefined;
  const isShown = preset?.secret?.madeBy === "sender";
  const how = isShown ? `copy it whole from ${preset?.title}` : "make a longer one with: openssl rand -hex 24";
  return `has fewer than ${minLength} characters; ${how}`;
}
