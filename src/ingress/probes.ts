import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../core/host.ts";

/** Carries the nonce of a probe. */
export const PROBE_HEADER = "x-reveille-probe";

/** The clocks of two gateways may differ a little. */
const LIFE_MS = 300_000;
const MAX_TAKEN = 1_000;

export interface ProbesOptions {
  /** The key of all gateways on the store: another one may be reached by the probe of this one. */
  readonly key: KeyObject;
  readonly clock: Clock;
}

/**
 * Requests of a gateway to its public URL, from outside: each is verified and mapped like a sender's, and goes no
 * further. Its nonce is signed, so that no sender can send one, and works once at each gateway, within five minutes.
 */
export class Probes {
  readonly #options: ProbesOptions;
  /** Nonces that came; the oldest first. */
  readonly #taken = new Set<string>();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /** The nonce of a probe that is about to be sent. */
  open(): string {
    const said = `${this.#options.clock.now()}.${randomBytes(16).toString("base64url")}`;
    return `${said}.${this.#sign(said).toString("base64url")}`;
  }

  /** True once for each nonce. Costs nothing for a call that has none. */
  take({ headers }: Pick<IncomingMessage, "headers">): boolean {
    const nonce = headers[PROBE_HEADER];
    if (typeof nonce !== "string" || this.#taken.has(nonce) || !this.#isOwn(nonce)) return false;
    const [oldest] = this.#taken;
    if (oldest !== undefined && this.#taken.size >= MAX_TAKEN) this.#taken.delete(oldest);
    this.#taken.add(nonce);
    return true;
  }

  #isOwn(nonce: string): boolean {
    const end = nonce.lastIndexOf(".");
    const said = nonce.slice(0, Math.max(0, end));
    const signature = Buffer.from(nonce.slice(end + 1), "base64url");
    const own = this.#sign(said);
    if (signature.length !== own.length || !timingSafeEqual(signature, own)) return false;
    return Math.abs(this.#options.clock.now() - Number.parseInt(said, 10)) < LIFE_MS;
  }

  #sign(said: string): Buffer {
    return createHmac("sha256", this.#options.key).update(`probe ${said}`).digest();
  }
}
