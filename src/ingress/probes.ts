import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Carries the nonce of a probe. */
export const PROBE_HEADER = "x-reveille-probe";

const LIFE_MS = 60_000;
const MAX_OPEN = 100;

/**
 * Requests of the gateway to itself, from outside: each is verified and mapped like a sender's, and goes no further.
 * Its nonce works once, within a minute, so that no sender can send one.
 */
export class Probes {
  /** Nonce -> the time of `performance.now()` at which it expires; the oldest first. */
  readonly #open = new Map<string, number>();

  /** The nonce of a probe that is about to be sent. */
  open(): string {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= MAX_OPEN) this.#open.delete(oldest);
    const nonce = randomBytes(32).toString("base64url");
    this.#open.set(nonce, performance.now() + LIFE_MS);
    return nonce;
  }

  /** True once for each nonce. Costs nothing while no probe is on its way. */
  take({ headers }: Pick<IncomingMessage, "headers">): boolean {
    if (this.#open.size === 0) return false;
    const nonce = String(headers[PROBE_HEADER]);
    const expiresAt = this.#open.get(nonce);
    return this.#open.delete(nonce) && expiresAt !== undefined && performance.now() < expiresAt;
  }
}
