import { hash } from "node:crypto";
import type { SignatureAuth } from "../../config/auth/schema.ts";
import type { ReplayKey } from "../../core/delivery.ts";
import type { IncomingRequest } from "../verifier.ts";

const DAY_SECONDS = 86_400;

/** The parts of a replay key. */
export interface ReplayKeyInput {
  readonly call: IncomingRequest;
  /** The signed bytes, without a secret in them. */
  readonly content: Uint8Array;
  /** True when another body could come with the same content. */
  readonly isBodyOpen: boolean;
  /** The signed time, in milliseconds; `undefined` when there is none, or it is not signed. */
  readonly signedAt: number | undefined;
}

/**
 * Compiles the replay marks of a route: digests of what was signed, which no other way of writing the
 * signature, no other key of a rotation and no unsigned header changes. `undefined`: none are made.
 */
export function compileReplayKey(
  auth: Pick<SignatureAuth, "replaySeconds" | "timestamp">,
  route: string,
): ((delivery: ReplayKeyInput) => ReplayKey) | undefined {
  const { replaySeconds, timestamp } = auth;
  if (replaySeconds === 0) return undefined;
  const label = hash("sha256", `reveille-replay\0${route}`, "buffer");
  const labelWithBody = hash("sha256", `reveille-replay-body\0${route}`, "buffer");
  const toleranceMs = (timestamp?.toleranceSeconds ?? 0) * 1_000;
  return ({ call, content, isBodyOpen, signedAt }) => {
    const digest = isBodyOpen
      ? digestOf(Buffer.concat([labelWithBody, digestOf(call.body), content]))
      : combined(label, digestOf(content));
    const remembered = call.receivedAt + (replaySeconds ?? DAY_SECONDS) * 1_000;
    if (signedAt === undefined) return { digest, expiresAt: remembered };
    // A second more, since whole seconds are compared.
    const stale = signedAt + toleranceMs + 1_000;
    return { digest, expiresAt: replaySeconds === undefined ? stale : Math.max(stale, remembered) };
  };
}

/** Bytes by way of hex: node:crypto takes twice as long to make a Buffer itself. */
function digestOf(bytes: Uint8Array): Buffer {
  return Buffer.from(hash("sha256", bytes, "hex"), "hex");
}

/** The digest as one of this route's; saves the copy of the content that a common digest would take. */
function combined(label: Buffer, digest: Buffer): Buffer {
  for (let at = 0; at < digest.length; at++) digest[at]! ^= label[at]!;
  return digest;
}
