/** Who may use the gateway's API. */
import type { IncomingMessage } from "node:http";
import { compileAuthenticate } from "../../../auth/check-token.ts";
import type { Authenticate } from "../../../auth/check-token.ts";
import { compileClientAddress } from "../../../auth/client-address.ts";
import type { ClientAddressResolver } from "../../../auth/client-address.ts";
import { Lockout } from "../../../auth/lockout.ts";
import { compileTokens } from "../../../auth/token.ts";
import { isRefusal } from "../../../core/errors.ts";
import type { Clock } from "../../../core/host.ts";

/** `ok`, or why not. */
export type GuardVerdict = "ok" | "unauthorized" | { readonly lockedForSeconds: number };

export interface GuardConfig {
  readonly authTokens: readonly string[];
  readonly trustedProxies: readonly string[];
}

/** 20 failures from one address within a minute lock it for a minute, as on the hook endpoints. */
const lockoutConfig = { failures: 20, windowMs: 60_000, lockMs: 60_000, maxClients: 10_000 };

/** No second carrier: the gateway token travels in `Authorization` alone. */
const noTokenHeader = "";

/** Compares the gateway token in constant time and slows down addresses that guess. */
export class ApiGuard {
  readonly #lockout: Lockout;
  #authenticate: Authenticate;
  #clientAddress: ClientAddressResolver;

  constructor(config: GuardConfig, options: { clock: Clock }) {
    this.#lockout = new Lockout(lockoutConfig, options);
    this.#authenticate = this.#compile(config);
    this.#clientAddress = compileClientAddress(config.trustedProxies);
  }

  /** Takes new tokens and proxies into use; failures stay counted. */
  configure(config: GuardConfig): void {
    this.#authenticate = this.#compile(config);
    this.#clientAddress = compileClientAddress(config.trustedProxies);
  }

  check(req: IncomingMessage): GuardVerdict {
    const forwarded = req.headers["x-forwarded-for"];
    const address = this.#clientAddress(
      req.socket.remoteAddress,
      Array.isArray(forwarded) ? forwarded.join(",") : forwarded,
    );
    const outcome = this.#authenticate(req, address);
    if (!isRefusal(outcome)) return "ok";
    return outcome.retryAfterSeconds === undefined ? "unauthorized" : { lockedForSeconds: outcome.retryAfterSeconds };
  }

  #compile({ authTokens }: GuardConfig): Authenticate {
    const tokens = compileTokens(authTokens, { tokenHeader: noTokenHeader });
    return compileAuthenticate({ tokens, lockout: this.#lockout });
  }
}
