/** Keys that never change, so that the vectors do not: made for these tests and used by nothing else. */
import { createHash, createPrivateKey, createPublicKey, webcrypto } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { p256 } from "@noble/curves/nist.js";
import type { ProviderKey } from "../unit/auth/keys/make-token.ts";

type KeyName = "rsa" | "another-rsa" | "ed25519" | "another-ed25519" | "p256" | "another-p256";

/** The private key in PKCS #8 as PEM. */
export function fixedKey(name: KeyName): string {
  return readFileSync(join(import.meta.dirname, `keys/${name}.pem`), "utf8");
}

export function fixedPublicKey(name: KeyName): KeyObject {
  return createPublicKey(fixedKey(name));
}

/** A pair of Ed25519 keys: the public one raw as hex, as Discord shows it, the private one as PEM. */
export function fixedEd25519(name: "ed25519" | "another-ed25519"): { publicHex: string; privatePem: string } {
  const { x = "" } = fixedPublicKey(name).export({ format: "jwk" });
  return { publicHex: Buffer.from(x, "base64url").toString("hex"), privatePem: fixedKey(name) };
}

/** An ECDSA signature in DER whose nonce is derived from the message (RFC 6979), which Node draws by lot. */
export function signP256(message: string, name: "p256" | "another-p256" = "p256"): Buffer {
  const { d = "" } = createPrivateKey(fixedKey(name)).export({ format: "jwk" });
  const digest = createHash("sha256").update(message).digest();
  return Buffer.from(p256.sign(digest, Buffer.from(d, "base64url"), { format: "der", prehash: false, lowS: false }));
}

/** A key of an identity provider. */
export async function fixedProviderKey(kid: string, name: "rsa" | "another-rsa" = "rsa"): Promise<ProviderKey> {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const der = createPrivateKey(fixedKey(name)).export({ type: "pkcs8", format: "der" });
  const jwk = fixedPublicKey(name).export({ format: "jwk" }) as ProviderKey["jwk"];
  return {
    kid,
    alg: "RS256",
    privateKey: await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]),
    jwk: { ...jwk, kid, alg: "RS256", use: "sig" },
  };
}

/** The public key as Google's older lists of certificates have it. */
export function publicPem(name: "rsa" | "another-rsa" = "rsa"): string {
  return fixedPublicKey(name).export({ type: "spki", format: "pem" }).toString();
}
