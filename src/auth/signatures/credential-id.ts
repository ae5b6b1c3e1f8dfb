import { hash } from "node:crypto";

/** Identifies a secret of a route without disclosing it: 16 hexadecimal characters. */
export function credentialId(route: string, secret: string | Uint8Array): string {
  const bytes = typeof secret === "string" ? Buffer.from(secret, "utf8") : secret;
  return hash("sha256", Buffer.concat([Buffer.from(`reveille-credential\0${route}\0`), bytes]), "hex").slice(0, 16);
}
