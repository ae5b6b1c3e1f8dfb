/** A transform that means harm: what its author might try, and the words that its delivery has to end with. */
export interface HostileModule {
  readonly name: string;
  readonly source: string;
  /** The reason that is recorded. */
  readonly reason: RegExp;
}

/** What the modules of these tests are held to. */
export const HOSTILE_LIMITS = {
  // Longer than a process may stand still on a machine that is busy: ordinary calls have to be answered in it.
  timeoutMs: 4_000,
  workers: 2,
  maxMemory: "160mb",
  maxResultBytes: "256kb",
};

/** The reason when the time is up. */
export const TOO_LONG = /took longer than 4,000 ms/;
