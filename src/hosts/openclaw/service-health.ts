import type { OpenClawServiceContext } from "./sdk.ts";

/** What can be wrong at the same time; the first that is present is reported. */
const KINDS = ["configuration", "address", "events"] as const;

type Kind = (typeof KINDS)[number];

/** Sessions that are named in a report. */
const MAX_NAMES = 3;

/** The host keeps one failure for a service, so that the end of one must not clear another. */
export class ServiceHealth {
  readonly #health: OpenClawServiceContext["serviceHealth"];
  readonly #problems = new Map<Kind, Error>();
  /** Sessions whose events no turn takes. */
  readonly #stalled = new Set<string>();

  constructor(health: OpenClawServiceContext["serviceHealth"]) {
    this.#health = health;
  }

  /** Without a problem, the kind is in order. */
  set(kind: Kind, problem: Error | undefined): void {
    if (problem === undefined) this.#problems.delete(kind);
    else this.#problems.set(kind, problem);
    const first = KINDS.map((each) => this.#problems.get(each)).find((each) => each !== undefined);
    if (first === undefined) this.#health?.clearFailure();
    else this.#health?.reportFailure(first);
  }

  /** The service stays unhealthy until a turn has taken the events of every stalled session. */
  setStalled(session: string, isStalled: boolean): void {
    if (isStalled) this.#stalled.add(session);
    else this.#stalled.delete(session);
    const names = [...this.#stalled].slice(0, MAX_NAMES).join(", ");
    const problem = `System events wait and no turn takes them: ${names}.`;
    this.set("events", names === "" ? undefined : new Error(problem));
  }
}
