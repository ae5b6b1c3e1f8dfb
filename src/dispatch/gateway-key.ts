/** The key of a gateway for what its own runs carry: made once, and kept in its state directory. */
import { createHmac, type KeyObject, randomBytes } from "node:crypto";
import { readBoundedFile, writePrivateFile } from "../auth/keys/private-file.ts";

const KEY_BYTES = 32;
const MAX_FILE_BYTES = 1_024;
const CANARY_CHARACTERS = 20;

/** Reads the key, or makes it. A file that holds none is an error: another key would not know what the first has marked. */
export async function openGatewayKey(file: string): Promise<Uint8Array> {
  const written = await readBoundedFile(file, MAX_FILE_BYTES);
  if (written === undefined) {
    const key = randomBytes(KEY_BYTES);
    await writePrivateFile(file, `${key.toString("base64")}\n`);
    return key;
  }
  const key = Buffer.from(written.trim(), "base64");
  if (key.length !== KEY_BYTES) throw new Error(`The file ${file} holds no key; remove it to have another one made.`);
  return key;
}

/** The canary of a run: the same for every attempt and every process, and unknown to everyone but its prompt. */
export function canaryOf(key: KeyObject, runId: string): string {
  return createHmac("sha256", key).update(`canary ${runId}`).digest("hex").slice(0, CANARY_CHARACTERS);
}
