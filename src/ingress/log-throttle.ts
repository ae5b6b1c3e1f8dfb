import type { Clock } from "../core/host.ts";

/** A kind is logged at most once in this time. */
const WINDOW_MS = 10_000;
/** A count that no later line carries is flushed after this time. */
const FLUSH_AFTER_MS = 60_000;
const MAX_KINDS = 1_000;

interface Logged<Facts> {
  readonly at: number;
  readonly facts: Facts;
  suppressed: number;
}

/**
 * Admits one line of a kind in ten seconds and counts the others, so that a caller cannot fill the log.
 *
 * The count goes with the next line of that kind; when none follows within a minute, or the ingress shuts
 * down, it is flushed. Past 1,000 kinds at a time, new ones share the kind `shared` that the caller names.
 */
export class LogThrottle<Facts extends object> {
  readonly #clock: Clock;
  readonly #flushed: (facts: Facts, suppressed: number) => void;
  /** By kind, the oldest line first. */
  readonly #logged = new Map<string, Logged<Facts>>();
  #timer: NodeJS.Timeout | undefined;

  /** `flushed` logs a count; `facts` are those of the last line of its kind. */
  constructor(options: { readonly clock: Clock; readonly flushed: (facts: Facts, suppressed: number) => void }) {
    this.#clock = options.clock;
    this.#flushed = options.flushed;
  }

  /** Lines suppressed since the last one of the kind, or `undefined` when this one is to be suppressed. */
  admit(kind: string, facts: Facts, shared = ""): number | undefined {
    const now = this.#clock.now();
    const key = this.#hasRoom(kind, now) ? kind : shared;
    const last = this.#logged.get(key);
    if (last && isRecent(last, now, WINDOW_MS)) {
      last.suppressed++;
      this.#timer ??= setTimeout(() => this.#onTimer(), FLUSH_AFTER_MS).unref();
      return undefined;
    }
    this.#logged.delete(key);
    this.#logged.set(key, { at: now, facts, suppressed: 0 });
    return last?.suppressed ?? 0;
  }

  /** Logs every count that no line has carried. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#expire(this.#clock.now(), 0);
  }

  #hasRoom(kind: string, now: number): boolean {
    if (this.#logged.size < MAX_KINDS || this.#logged.has(kind)) return true;
    this.#expire(now, WINDOW_MS);
    return this.#logged.size < MAX_KINDS;
  }

  #onTimer(): void {
    this.#timer = undefined;
    this.#expire(this.#clock.now(), FLUSH_AFTER_MS);
    for (const { suppressed } of this.#logged.values()) {
      if (suppressed === 0) continue;
      this.#timer = setTimeout(() => this.#onTimer(), FLUSH_AFTER_MS).unref();
      return;
    }
  }

  #expire(now: number, ageMs: number): void {
    for (const [kind, logged] of this.#logged) {
      if (isRecent(logged, now, ageMs)) break;
      this.#logged.delete(kind);
      if (logged.suppressed > 0) this.#flushed(logged.facts, logged.suppressed);
    }
  }
}

/** A time in the future is not recent: the clock was set back. */
function isRecent({ at }: { readonly at: number }, now: number, ageMs: number): boolean {
  return now >= at && now - at < ageMs;
}
