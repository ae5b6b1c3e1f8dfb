import type { Clock } from "../core/host.ts";

const EVERY_MS = 10_000;
const MAX_ROUTES = 1_000;

/**
 * Lets one line of a route through in ten seconds and counts the rest: the gateway's owner has to see
 * why a sender is refused, and nobody shall be able to fill the log from outside.
 */
export class LogThrottle {
  readonly #clock: Clock;
  readonly #told = new Map<string, { at: number; suppressed: number }>();

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
  }

  log(route: string, log: (suppressed: number) => void): void {
    const now = this.#clock.now();
    const last = this.#told.get(route);
    if (last && now - last.at < EVERY_MS && now >= last.at) {
      last.suppressed++;
      return;
    }
    if (!last && this.#told.size >= MAX_ROUTES) this.#told.clear();
    this.#told.set(route, { at: now, suppressed: 0 });
    log(last?.suppressed ?? 0);
  }
}
