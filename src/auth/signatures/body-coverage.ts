import { hash, timingSafeEqual } from "node:crypto";
import type { SignatureAuth } from "../../config/auth/schema.ts";
import type { IncomingRequest } from "../verifier.ts";
import { compileRequestSource } from "./request-source.ts";
import type { SignedInput } from "./request-source.ts";
import { decodeBytes } from "./decode-bytes.ts";
import { isForm } from "./content-texts.ts";
import type { SignedContent } from "./signed-content.ts";

const DIGEST_BYTES = 32;

/** The way in which the signature of a scheme covers the body. */
export interface BodyCoverage {
  /** Why the body cannot be the one that was signed, before the signature itself is looked at. */
  refuse(input: SignedInput): string | undefined;
  /** True when another body could come with the same signature. */
  isOpen(call: IncomingRequest): boolean;
}

/**
 * Compiles the check of a body's digest. It is wanted for every body but a form that the content covers;
 * a content that covers forms only refuses all else when no digest is in.
 */
export function compileBodyCoverage(
  { bodyDigest }: Pick<SignatureAuth, "bodyDigest">,
  content: SignedContent,
): BodyCoverage {
  const isCovered = (call: IncomingRequest) => content.signsBody || (content.signsForm && isForm(call));
  if (bodyDigest === undefined) {
    return {
      refuse({ call }) {
        if (!content.signsForm || isCovered(call) || call.body.length === 0) return undefined;
        return "the body is no form, and the sender signs forms only";
      },
      // An id that is signed is another with every delivery, whatever the body is.
      isOpen: (call) => {
        if (content.hasId || content.isBodyPart || isCovered(call)) return false;
        // An empty body is an empty form, whatever it is called.
        return !content.signsForm || call.body.length > 0;
      },
    };
  }
  const read = compileRequestSource(bodyDigest.from);
  return {
    refuse(input) {
      if (content.signsForm && isForm(input.call)) return undefined;
      const text = read(input);
      if (text === undefined) return "the digest of the body is missing";
      const digest = decodeBytes(text, bodyDigest.encoding);
      const isRight =
        digest?.length === DIGEST_BYTES &&
        timingSafeEqual(digest, hash(bodyDigest.algorithm, input.call.body, "buffer"));
      return isRight ? undefined : "the digest of the body does not match";
    },
    isOpen: () => false,
  };
}
