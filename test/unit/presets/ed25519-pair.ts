import { generateKeyPairSync } from "node:crypto";

/** A new pair of Ed25519 keys: the public one raw as hex, as Discord shows it, the private one as PEM. */
export function ed25519Pair(): { publicHex: string; privatePem: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  return {
    publicHex: Buffer.from(x, "base64url").toString("hex"),
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
