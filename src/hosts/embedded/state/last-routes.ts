import type { LastRoute } from "../../../core/host.ts";
import type { StateStore } from "./state-store.ts";

/** Routes held in memory; there is one for each agent that anyone asked about. */
const MAX_ROUTES = 1_000;
/** After which one that another gateway can have changed is read again. */
const SHARED_MS = 1_000;

interface KnownRoute {
  /** A promise until it is read. */
  route: LastRoute | Promise<LastRoute>;
  /** On the clock of the process. */
  readonly readAt: number;
}

/** Whom main sessions last talked to; a call that is accepted asks for it. */
export class LastRoutes {
  readonly #state: StateStore;
  readonly #routes = new Map<string, KnownRoute>();

  constructor(state: StateStore) {
    this.#state = state;
  }

  of(sessionKey: string): LastRoute | Promise<LastRoute> {
    const known = this.#routes.get(sessionKey);
    const isOld = this.#state.isShared && known !== undefined && performance.now() - known.readAt > SHARED_MS;
    if (known !== undefined && !isOld) return known.route;
    if (this.#routes.size >= MAX_ROUTES) this.#routes.clear();
    const reading = this.#state.read("route", sessionKey);
    // While the database is away, the route of before is better than none.
    const route = known === undefined ? reading : reading.catch(() => known.route);
    const read: KnownRoute = { route, readAt: performance.now() };
    this.#routes.set(sessionKey, read);
    route.then(
      (target) => {
        read.route = target;
      },
      () => {
        if (this.#routes.get(sessionKey) === read) this.#routes.delete(sessionKey);
      },
    );
    return route;
  }

  /** It has changed. */
  forget(sessionKey: string): void {
    this.#routes.delete(sessionKey);
  }
}
