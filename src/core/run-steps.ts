/** The steps after a run, in their order; each is carried out at most once per run. */
export const RUN_STEPS = ["summarized", "delivered", "heartbeat", "called-back"] as const;
export type RunStep = (typeof RUN_STEPS)[number];

/** A step that was carried out. */
export interface StepTime {
  readonly step: RunStep;
  /** ISO 8601 UTC. */
  readonly at: string;
}
