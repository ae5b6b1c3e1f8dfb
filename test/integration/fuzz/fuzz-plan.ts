import { mutateFramed } from "./framed-mutations.ts";
import { render, seedRequest } from "./fuzz-request.ts";
import type { CredentialKind, FuzzRequest } from "./fuzz-request.ts";
import { Prng } from "./prng.ts";
import { mutateWire } from "./wire-mutations.ts";

/** What is sent over one connection, and what must hold for it. */
export interface FuzzConnection {
  readonly bytes: Buffer;
  readonly requests: number;
  /** Sent in pieces rather than at once. */
  readonly pieces: Prng | undefined;
  /**
   * For each request, in order, whether it may be let in; then each of them is answered exactly once.
   * `undefined` where the damage leaves open how many requests there are.
   */
  readonly mayPass: readonly boolean[] | undefined;
  /** False when the connection may close before everything on it was read. */
  readonly staysOpen: boolean;
  /** True when nothing on the connection can show the token in a carrier that counts. */
  readonly isStrict: boolean;
}

/** Sent last on each connection, so that it ends once everything before has been answered. */
const FAREWELL = Buffer.from("GET /farewell HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n");
/** There is nothing under that path. */
export const FAREWELL_STATUS = 404;

const MAX_PIPELINED = 24;
/** The gateway's limit on a body; over it the connection closes with the answer. */
export const MAX_BODY_BYTES = 8_192;

/** The connection of that number: the same for the same seed. */
export function planConnection(seed: number, number: number, token: string): FuzzConnection {
  const prng = new Prng(seed, number);
  return prng.chance(0.5) ? planFramed(prng, token) : planDamaged(prng, token);
}

/** Requests that say odd things and end where they should, pipelined. */
function planFramed(prng: Prng, token: string): FuzzConnection {
  const parts: Buffer[] = [];
  const mayPass: boolean[] = [];
  const count = 1 + prng.below(MAX_PIPELINED);
  let staysOpen = true;
  while (parts.length < count && staysOpen) {
    const kind = prng.pick<CredentialKind>(["right", "right", "right", "absent", "misplaced"]);
    const { request, payload } = seedRequest(prng, kind, token);
    mutateFramed(prng, request, payload);
    if (kind === "misplaced") hideInRequest(prng, request, token);
    parts.push(render(request));
    mayPass.push(kind === "right");
    staysOpen = !mayClose(request);
  }
  const bytes = Buffer.concat([...parts, FAREWELL]);
  // To go on writing to a connection that has been closed costs a client the answers it has not read.
  const pieces = staysOpen && prng.chance(0.2) ? prng : undefined;
  return { bytes, requests: parts.length, pieces, mayPass, staysOpen, isStrict: !mayPass.includes(true) };
}

/** After such a request the connection may close, so it is the last one on it. */
function mayClose({ body, chunks }: FuzzRequest): boolean {
  return chunks !== undefined || (body?.length ?? 0) > MAX_BODY_BYTES;
}

/** The token where it does not count, besides the header that it is in. */
function hideInRequest(prng: Prng, request: FuzzRequest, token: string): void {
  if (prng.chance(0.3))
    request.body = Buffer.from(JSON.stringify({ text: token, token, authorization: `Bearer ${token}` }));
  if (prng.chance(0.3))
    request.target += `${request.target.includes("?") ? "&" : "?"}${prng.pick(["token", "t", "access_token"])}=${token}`;
}

/** One to three requests damaged as bytes; all of them show the token, or none does. */
function planDamaged(prng: Prng, token: string): FuzzConnection {
  const kind = prng.pick<CredentialKind>(["right", "absent"]);
  const parts: Buffer[] = [];
  const count = 1 + prng.below(3);
  while (parts.length < count) {
    const { request, payload } = seedRequest(prng, kind, token);
    if (prng.chance(0.3)) mutateFramed(prng, request, payload);
    const isDamaged = parts.length === count - 1 || prng.chance(0.3);
    parts.push(isDamaged ? mutateWire(prng, render(request)) : render(request));
  }
  const bytes = Buffer.concat([...parts, FAREWELL]);
  return {
    bytes,
    requests: parts.length,
    pieces: prng.chance(0.05) ? prng : undefined,
    mayPass: undefined,
    staysOpen: false,
    // Damage could only bring the token about by chance, and that can be seen.
    isStrict: kind === "absent" && !bytes.includes(token),
  };
}
