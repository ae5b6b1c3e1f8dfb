import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../core/host.ts";

const IDLE_MS = 12 * 60 * 60_000;
const LINK_MS = 60_000;
/** Past these the oldest is forgotten: an owner signs in again. */
const MAX_SIGN_INS = 100;
const MAX_LINKS = 20;

interface SignIn {
  /** Of the gateway token at the sign-in: a rotated token ends it. */
  readonly generation: number;
  usedAt: number;
}

/**
 * The browsers that are signed in, and the one-time links that are not used yet. Only digests are kept, in
 * memory: a restart ends every sign-in.
 */
export class SignIns {
  readonly #clock: Clock;
  readonly #generation: () => number;
  /** The one used longest ago first. */
  readonly #signIns = new Map<string, SignIn>();
  /** Digest -> time of expiry; the oldest first. */
  readonly #links = new Map<string, number>();

  constructor({ clock, generation }: { clock: Clock; generation: () => number }) {
    this.#clock = clock;
    this.#generation = generation;
  }

  /** Begins a sign-in and returns the value of its cookie. */
  begin(): string {
    const id = newSecret();
    keep(this.#signIns, digestOf(id), { generation: this.#generation(), usedAt: this.#clock.now() }, MAX_SIGN_INS);
    return id;
  }

  /** True for a cookie whose sign-in lasts; each use lets it last for 12 hours more. */
  has(id: string): boolean {
    const key = digestOf(id);
    const signIn = this.#signIns.get(key);
    if (signIn === undefined) return false;
    this.#signIns.delete(key);
    const now = this.#clock.now();
    if (signIn.generation !== this.#generation() || now - signIn.usedAt > IDLE_MS) return false;
    signIn.usedAt = now;
    this.#signIns.set(key, signIn);
    return true;
  }

  end(id: string): void {
    this.#signIns.delete(digestOf(id));
  }

  /** A nonce that signs in one browser within 60 seconds. */
  createLink(): string {
    const nonce = newSecret();
    keep(this.#links, digestOf(nonce), this.#clock.now() + LINK_MS, MAX_LINKS);
    return nonce;
  }

  /** True once for a nonce that has not expired. */
  takeLink(nonce: string): boolean {
    const key = digestOf(nonce);
    const expiresAt = this.#links.get(key);
    this.#links.delete(key);
    return expiresAt !== undefined && this.#clock.now() < expiresAt;
  }
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** A lookup by digest takes no longer for a value that is nearly right. */
function digestOf(value: string): string {
  return createHash("sha256").update(value).digest("base64");
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  if (map.size >= max) {
    for (const oldest of map.keys()) {
      map.delete(oldest);
      break;
    }
  }
  map.set(key, value);
}
