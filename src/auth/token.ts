import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Credential } from "../core/delivery.ts";

/** The part of a request that carries a token; `http.IncomingMessage` is one. */
export interface TokenCarrier {
  /** Lower-case names; Node keeps only the first of several Authorization headers here. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
}

export interface TokenSet {
  /** The credential of the token that the request presents, or `undefined` when it presents none that is right. */
  check(request: TokenCarrier): Credential | undefined;
  /** The reason why a request is refused, for the log: it never holds what was sent. */
  problem(request: TokenCarrier): string;
}

interface CompiledToken {
  /** The token's UTF-8 bytes, one character each: the form in which Node hands over header values. */
  readonly wire: string;
  readonly padded: Buffer;
  readonly credential: Credential;
}

/**
 * Prepares the hook tokens for comparison (specification 5.1, 5.2).
 *
 * The token is taken from `Authorization: Bearer <token>`; only when that header is absent, of
 * another scheme or empty, from the header `tokenHeader` (lower case) or `x-openclaw-token`. More than one Authorization
 * header is ambiguous and never accepted. Every token is compared on every check, in a time that
 * depends on the lengths of the candidate and the tokens only. Throws a TypeError for a blank token.
 */
export function compileTokens(tokens: readonly string[], options: { tokenHeader: string }): TokenSet {
  const { tokenHeader } = options;
  const wires = tokens.map((token) => Buffer.from(token.trim(), "utf8").toString("latin1"));
  const size = Math.max(1, ...wires.map((wire) => wire.length));
  const compiled = wires.map((wire) => compileToken(wire, size));
  const candidateBytes = Buffer.alloc(size);

  return {
    check(request) {
      const candidate = presentedToken(request.headers, tokenHeader);
      // A longer value than every token is cut here; `wire` below distinguishes it.
      const written = candidateBytes.write(candidate, 0, size, "latin1");
      candidateBytes.fill(0, written);
      let credential: Credential | undefined;
      for (const token of compiled) {
        if (timingSafeEqual(candidateBytes, token.padded) && token.wire === candidate) credential = token.credential;
      }
      if (credential === undefined || hasSeveralAuthorizations(request)) return undefined;
      return credential;
    },
    problem(request) {
      if (hasSeveralAuthorizations(request)) return "there is more than one authorization header";
      const { headers } = request;
      if (bearerToken(headers.authorization) !== "") return "the token in authorization is wrong";
      const header = [tokenHeader, OPENCLAW_HEADER].find((name) => headers[name] !== undefined);
      if (header !== undefined) return `the token in ${header} is wrong`;
      return headers.authorization === undefined ? "there is no token" : "authorization holds no bearer token";
    },
  };
}

function compileToken(wire: string, size: number): CompiledToken {
  if (wire === "") throw new TypeError("A hook token must not be blank.");
  const bytes = Buffer.from(wire, "latin1");
  const padded = Buffer.alloc(size);
  bytes.copy(padded);
  const id = createHash("sha256").update("reveille-credential\0").update(bytes).digest("hex").slice(0, 16);
  return { wire, padded, credential: Object.freeze({ scheme: "token", id }) };
}

/** The header of OpenClaw's senders, who do not change when their `hooks` block moves. */
const OPENCLAW_HEADER = "x-openclaw-token";

function presentedToken(headers: IncomingHttpHeaders, tokenHeader: string): string {
  const bearer = bearerToken(headers.authorization);
  if (bearer !== "") return bearer;
  const value = headers[tokenHeader] ?? headers[OPENCLAW_HEADER];
  return typeof value === "string" ? trimBlanks(value) : "";
}

function bearerToken(value: string | undefined): string {
  if (value === undefined || value.charCodeAt(6) !== SPACE) return "";
  const isBearer = value.startsWith("Bearer") || value.slice(0, 6).toLowerCase() === "bearer";
  return isBearer ? trimBlanks(value.slice(7)) : "";
}

const SPACE = 0x20;
const TAB = 0x09;

/**
 * Removes the blanks that HTTP allows around a value (RFC 9110, 5.6.3). `trim()` removes more: the
 * last byte of a token that ends in `à` reads as a no-break space here.
 */
function trimBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start++;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** Asked only once a token was right: the answer to a wrong one is the same either way. */
function hasSeveralAuthorizations(request: TokenCarrier): boolean {
  if (request.headers.authorization === undefined) return false;
  const { rawHeaders } = request;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 13 && name.toLowerCase() === "authorization") count++;
  }
  return count > 1;
}
