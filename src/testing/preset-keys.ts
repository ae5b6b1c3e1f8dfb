import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { AuthInput } from "../config/auth-schema.ts";

/** What a sender signs with, and what the configuration holds of it. */
export interface PresetKeys {
  /** For `secret`; empty where the sender's keys are fetched. */
  readonly secrets: readonly string[];
  /** For {@link "./preset-probe".signSample}. */
  readonly key: string;
}

/**
 * Makes fresh keys for a scheme; `undefined` where only the sender's own keys would do: certificates
 * and tokens of an identity provider.
 */
export function makePresetKeys(auth: AuthInput): PresetKeys | undefined {
  if (auth.certificate !== undefined || auth.scheme === "jwt" || auth.scheme === "token") return undefined;
  const algorithm = typeof auth.algorithm === "string" ? auth.algorithm : "hmac-sha256";
  if (auth.scheme === "signature" || auth.scheme === undefined) {
    if (algorithm === "ed25519") return ofPair(generateKeyPairSync("ed25519"), auth, rawEd25519);
    if (algorithm === "ecdsa-sha256") return ofPair(generateKeyPairSync("ec", { namedCurve: "P-256" }), auth, spki);
    if (algorithm.startsWith("rsa")) return ofPair(generateKeyPairSync("rsa", { modulusLength: 2048 }), auth, spki);
  }
  const secret = sharedSecret(auth);
  return { secrets: [secret], key: secret };
}

function sharedSecret({ scheme, keyEncoding, username }: AuthInput): string {
  if (scheme === "basic" && username === undefined) return `reveille:${randomBytes(24).toString("hex")}`;
  if (keyEncoding === "whsec") return `whsec_${randomBytes(24).toString("base64")}`;
  return randomBytes(32).toString(keyEncoding === "base64" ? "base64" : "hex");
}

function ofPair(
  pair: { publicKey: KeyObject; privateKey: KeyObject },
  auth: AuthInput,
  raw: (key: KeyObject) => Buffer,
): PresetKeys {
  const key = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  if (auth.keyEncoding === "hex" || auth.keyEncoding === "base64") {
    return { secrets: [raw(pair.publicKey).toString(auth.keyEncoding)], key };
  }
  if (auth.keyEncoding === "whsec") return { secrets: [`whpk_${raw(pair.publicKey).toString("base64")}`], key };
  return { secrets: [pair.publicKey.export({ type: "spki", format: "pem" }).toString()], key };
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

/** The last 32 bytes of the structure are the key itself (RFC 8410, 4). */
function rawEd25519(key: KeyObject): Buffer {
  return spki(key).subarray(-32);
}
