/** The check of a bearer token on the gateway's own routes. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { sendError } from "../../../api/errors.ts";
import { type CheckToken, compileCheckToken } from "../../../auth/check-token.ts";
import { type ClientAddressResolver, compileClientAddress } from "../../../auth/client-address.ts";
import { Lockout } from "../../../auth/lockout.ts";
import { compileTokens, type TokenCarrier } from "../../../auth/token.ts";
import type { SignInGuard, SignInVerdict } from "../../../console/routes.ts";
import { isRefusal } from "../../../core/errors.ts";
import type { Clock } from "../../../core/host.ts";
import { tunnelClient } from "../../../http/tunnel-client.ts";

interface GuardConfig {
  readonly authTokens: readonly string[];
  readonly trustedProxies: readonly string[];
}

/** 20 failures from one address within a minute lock it for a minute, as on the hook endpoints. */
const LOCKOUT = { failures: 20, windowMs: 60_000, lockMs: 60_000, maxClients: 10_000 };

/** No second carrier: the gateway token travels in `Authorization` alone. */
const noTokenHeader = "";

/** Compares the gateway token in constant time and slows down addresses that guess. */
export class ApiGuard implements SignInGuard {
  readonly #lockout: Lockout;
  #authenticate: CheckToken;
  #clientAddress: ClientAddressResolver;
  #config: GuardConfig;
  #generation = 0;

  constructor(config: GuardConfig, options: { clock: Clock }) {
    this.#lockout = new Lockout(LOCKOUT, options);
    this.#authenticate = this.#compile(config);
    this.#clientAddress = compileClientAddress(config.trustedProxies);
    this.#config = config;
  }

  get generation(): number {
    return this.#generation;
  }

  get behindProxy(): boolean {
    return this.#config.trustedProxies.length > 0;
  }

  /** Takes new tokens and proxies into use; failures stay counted. */
  configure(config: GuardConfig): void {
    if (config.authTokens.join("\n") !== this.#config.authTokens.join("\n")) this.#generation++;
    this.#config = config;
    this.#authenticate = this.#compile(config);
    this.#clientAddress = compileClientAddress(config.trustedProxies);
  }

  check(req: IncomingMessage): SignInVerdict {
    return this.#check(req, req);
  }

  checkToken(req: IncomingMessage, token: string): SignInVerdict {
    // Node hands over the bytes of a header as one character each.
    const wire = Buffer.from(token.trim(), "utf8").toString("latin1");
    return this.#check(req, { headers: { authorization: `Bearer ${wire}` }, rawHeaders: [] });
  }

  refuse(req: IncomingMessage): SignInVerdict {
    return this.#check(req, { headers: {}, rawHeaders: [] });
  }

  /** False when the caller has been turned away. */
  admit(req: IncomingMessage, res: ServerResponse): boolean {
    const verdict = this.check(req);
    if (verdict === "ok") return true;
    if (verdict === "unauthorized") {
      sendError(res, "UNAUTHORIZED", { headers: { "www-authenticate": "Bearer" } });
    } else {
      sendError(res, "TOO_MANY_FAILURES", { headers: { "retry-after": verdict.lockedForSeconds } });
    }
    return false;
  }

  #check(req: IncomingMessage, carrier: TokenCarrier): SignInVerdict {
    const forwarded = req.headers["x-forwarded-for"];
    const address =
      tunnelClient(req) ??
      this.#clientAddress(req.socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(",") : forwarded);
    const outcome = this.#authenticate(carrier, address);
    if (!isRefusal(outcome)) return "ok";
    return outcome.retryAfterSeconds === undefined ? "unauthorized" : { lockedForSeconds: outcome.retryAfterSeconds };
  }

  #compile({ authTokens }: GuardConfig): CheckToken {
    const tokens = compileTokens(authTokens, { tokenHeader: noTokenHeader });
    return compileCheckToken({ tokens, lockout: this.#lockout });
  }
}
