import type { Credential } from "../core/delivery.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import { lockoutKey } from "./client-address.ts";
import type { Lockout } from "./lockout.ts";
import type { TokenCarrier, TokenSet } from "./token.ts";

/** The credential of the request; failures are counted against `clientAddress`. */
export type CheckToken = (request: TokenCarrier, clientAddress: string) => Credential | Refusal;

/**
 * Puts together the check of the hook token and the lockout of guessing addresses (specification
 * 5.1 to 5.5). The token is compared before the lockout is asked, so that no one is locked out by
 * the failures of someone else behind the same address. One and the same refusal answers a missing,
 * a malformed and a wrong token (401); a locked address is refused with 429 and `Retry-After`.
 */
export function compileCheckToken(options: { tokens: TokenSet; lockout: Lockout }): CheckToken {
  const { tokens, lockout } = options;
  return (request, clientAddress) => {
    const credential = tokens.check(request);
    if (credential !== undefined) {
      if (lockout.size > 0) lockout.succeed(lockoutKey(clientAddress));
      return credential;
    }
    const retryAfterSeconds = lockout.fail(lockoutKey(clientAddress));
    if (retryAfterSeconds === undefined) return UNAUTHORIZED;
    return refuse("TOO_MANY_FAILURES", undefined, { retryAfterSeconds });
  };
}

const UNAUTHORIZED: Refusal = Object.freeze(refuse("UNAUTHORIZED"));
