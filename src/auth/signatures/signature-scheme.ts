import type { SignatureAuth } from "../../config/auth/schema.ts";
import { requestViewOf } from "../request-view.ts";
import { splitSource } from "../value-source.ts";
import { listAt } from "../../core/payload-text.ts";
import type { FailedVerification, IncomingRequest, RequestView, SchemeVerifier, Verification } from "../verifier.ts";
import { compileAlgorithm } from "./algorithm.ts";
import { compileBodyCoverage } from "./body-coverage.ts";
import type { SignedInput } from "./request-source.ts";
import type { SchemeContext } from "../verifier.ts";
import { decodeBytes } from "./decode-bytes.ts";
import { compileCandidates } from "./candidates.ts";
import { compileReplayKey } from "./replay-key.ts";
import { compileKeys } from "./route-keys.ts";
import { matchesAny } from "./algorithm.ts";
import type { AlgorithmSpec, SignatureKey } from "./algorithm.ts";
import { compileContent, joinContent } from "./signed-content.ts";
import type { ContentParts, SignedContent } from "./signed-content.ts";
import { compileTimestamp } from "./signed-time.ts";
import { urlVariants } from "./content-texts.ts";

/** The claims of a request after every check but that of its key. */
interface Claim {
  readonly input: SignedInput;
  readonly spec: AlgorithmSpec;
  readonly signatures: readonly Uint8Array[];
  /** The contents that may have been signed: a URL can be written in several ways. */
  readonly contents: readonly ContentParts[];
  /** Milliseconds since the epoch, when it is known yet. */
  readonly time: number | undefined;
}

/**
 * Compiles the verifier of a sender that signs its requests. Whatever can be known before a request
 * comes is done here: a request costs one digest per key and two for its replay mark. Throws a TypeError
 * for data that can never verify anything.
 */
export function compileSignature(auth: SignatureAuth, context: SchemeContext): SchemeVerifier {
  refuseSources(auth);
  const findSignatures = compileCandidates(auth);
  const readClaim = compileClaim(auth, context);
  const keysOf = compileKeys(auth, context, compileAlgorithm(auth.algorithm).specs);
  const conclude = compileConclusion(auth, context);
  const verify = (call: IncomingRequest, view: RequestView): Verification | Promise<Verification> => {
    const found = findSignatures(call, view);
    if (typeof found === "string") return refused(found);
    const claim = readClaim({ call, view, pairs: found.pairs }, found.texts);
    if (typeof claim === "string") return refused(claim);
    const keys = keysOf(claim.input, claim.spec);
    return keys instanceof Promise ? keys.then((keys) => conclude(claim, keys)) : conclude(claim, keys);
  };
  const { each } = auth;
  if (each === undefined) return { verify: (call) => verify(call, requestViewOf(call)) };
  return { verify: (call) => verifyItems(call, each, verify) };
}

const MAX_ITEMS = 16;

/** Verifies each item of a list in the body as if it had been posted alone; one that is not signed refuses them all. */
function verifyItems(
  call: IncomingRequest,
  list: string,
  verify: (call: IncomingRequest, view: RequestView) => Verification | Promise<Verification>,
): Verification | Promise<Verification> {
  const { headers, query, payload } = requestViewOf(call);
  const items = listAt(payload, list);
  if (items.length === 0) return refused(`body ${list} has no items`);
  if (items.length > MAX_ITEMS) return refused(`body ${list} has more than ${MAX_ITEMS} items`);
  const found = items.map((item) => verify(call, { headers, query, payload: item }));
  if (found.every((each): each is Verification => !(each instanceof Promise))) return allOf(found);
  return Promise.all(found.map(async (each) => each)).then(allOf);
}

/** The mark of the first item holds the whole body. */
function allOf(found: readonly Verification[]): Verification {
  return found.find(({ ok }) => !ok) ?? found[0]!;
}

/** The signature stands somewhere, and pairs only where it is one of them. */
function refuseSources({ from, pair, id, timestamp, content }: SignatureAuth): void {
  if (from.length === 0) throw new TypeError("auth.from is missing: it says where the signature stands.");
  const others = [id, timestamp?.from].some((source) => source?.startsWith("pair:")) || content.includes("{pair:");
  if (from.some((source) => source.startsWith("pair:")) || (others && pair === undefined)) {
    throw new TypeError(
      "pair:<key> is a part of the signature's header; auth.from names the header, and auth.pair the key of the signature.",
    );
  }
}

type ReadClaim = (input: SignedInput, texts: readonly string[]) => Claim | string;

/** Compiles what is checked before a key is taken up; a text is the reason of a refusal. */
function compileClaim(auth: SignatureAuth, { publicUrl }: SchemeContext): ReadClaim {
  const algorithm = compileAlgorithm(auth.algorithm);
  const contents = compileContents(auth, publicUrl);
  if (contents[0]!.hasSecret !== algorithm.takesSecretInContent) {
    throw new TypeError("auth.content must hold {secret} with the algorithms sha1 and sha256, and with no other.");
  }
  const checkTime = auth.timestamp && !isInBody(auth) ? compileTimestamp(auth.timestamp) : undefined;
  const cover = compileBodyCoverage(auth, contents[0]!);
  return (input, texts) => {
    const spec = algorithm.choose(input);
    if (spec === undefined) return "the algorithm is missing or not allowed";
    const signatures = decodeSignatures(texts, auth.encoding, spec);
    if (signatures.length === 0) return "malformed signature";
    const time = checkTime?.(input);
    if (typeof time === "string") return time;
    const reason = cover.refuse(input);
    if (reason !== undefined) return reason;
    const parts: ContentParts[] = [];
    for (const content of contents) {
      const found = content.read(input);
      if (typeof found === "string") return found;
      parts.push(found);
    }
    return { input, spec, signatures, contents: parts, time };
  };
}

/** Compiles what follows once the keys are there. */
function compileConclusion(
  auth: SignatureAuth,
  { route, publicUrl }: SchemeContext,
): (claim: Claim, keys: readonly SignatureKey[] | FailedVerification) => Verification {
  const content = compileContent(auth, publicUrl);
  const cover = compileBodyCoverage(auth, content);
  const mark = compileReplayKey(auth, route);
  const checkTime = auth.timestamp && isInBody(auth) ? compileTimestamp(auth.timestamp) : undefined;
  const isTimeSigned = auth.timestamp !== undefined && content.covers(auth.timestamp.from);
  return (claim, keys) => {
    if ("ok" in keys) return keys;
    const { call } = claim.input;
    const match = findMatch(claim, keys);
    if (match === undefined) return refused("no signature matches");
    const time = checkTime?.(claim.input) ?? claim.time;
    if (typeof time === "string") return refused(time);
    const { credentialId } = match.key;
    if (mark === undefined) return { ok: true, credentialId };
    const signedAt = isTimeSigned ? time : undefined;
    return {
      ok: true,
      credentialId,
      replay: mark({
        call,
        content: match.content,
        isBodyOpen: auth.each !== undefined || cover.isOpen(call),
        signedAt,
      }),
    };
  };
}

interface Match {
  readonly key: SignatureKey;
  /** The signed content, without a secret in it. */
  readonly content: Uint8Array;
}

/** Every key is tried, so that the time does not reveal which one matched. */
function findMatch({ spec, signatures, contents }: Claim, keys: readonly SignatureKey[]): Match | undefined {
  let match: Match | undefined;
  for (const key of keys) {
    for (const parts of contents) {
      const content = joinContent(parts, key.text);
      if (!matchesAny(spec, key.key, content, signatures)) continue;
      match = { key, content: spec.family === "digest" ? joinContent(parts, "") : content };
    }
  }
  return match;
}

/** The content for every way in which the public URL may be written. */
function compileContents(auth: SignatureAuth, publicUrl: string | undefined): readonly SignedContent[] {
  const content = compileContent(auth, publicUrl);
  if (publicUrl === undefined || !content.hasUrl || !auth.anyPort) return [content];
  return urlVariants(publicUrl).map((base) => compileContent(auth, base));
}

/** A signature that is too long or too short for the algorithm is none. */
function decodeSignatures(
  texts: readonly string[],
  encoding: SignatureAuth["encoding"],
  { size }: AlgorithmSpec,
): readonly Buffer[] {
  const signatures: Buffer[] = [];
  for (const text of texts) {
    const bytes = decodeBytes(text, encoding);
    if (bytes !== undefined && (size === undefined || bytes.length === size)) signatures.push(bytes);
  }
  return signatures;
}

/** A time in the body means something only once the body was seen to be the sender's. */
function isInBody({ timestamp }: SignatureAuth): boolean {
  return timestamp !== undefined && splitSource(timestamp.from).kind === "body";
}

function refused(reason: string): FailedVerification {
  return { ok: false, reason };
}
