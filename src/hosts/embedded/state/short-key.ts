/** Idempotency keys as they are stored. */
import { hash } from "node:crypto";

/** Keys of ordinary length stay readable, and in the order of time when their ids are. */
const MAX_KEY_CHARS = 256;

/** The key itself, or the digest of one that is too long to store. */
export function shortKey(key: string): string {
  return key.length <= MAX_KEY_CHARS ? key : `sha256:${hash("sha256", key)}`;
}
