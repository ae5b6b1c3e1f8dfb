/** When a process dies at a step: as it begins, a few milliseconds into it, or as it has ended. */
export type FaultMoment = "before" | "during" | "after";

/** A named step of the way of a call, and how often a process under load comes by. */
export interface FaultStep {
  readonly name: string;
  /** Steps that few calls have are killed at the first or second time. */
  readonly rare?: true;
  readonly moments: readonly FaultMoment[];
}

const AROUND: readonly FaultMoment[] = ["before", "after"];
const THROUGH: readonly FaultMoment[] = ["before", "during", "after"];

/** Stages of `src/ingress/pipeline.ts`, each a function of that name in `src/ingress/stages/`. */
export const STAGES = [
  "edge",
  "authenticate",
  "body",
  "verify",
  "handshake",
  "parse",
  "resolve",
  "filter",
  "render",
  "policy",
  "accept",
  "wait",
  "respond",
] as const;

/** Every point at which a process can be made to kill itself; the durable side as `docs/extend/crash-recovery.md` has it. */
export const FAULT_STEPS: readonly FaultStep[] = [
  ...STAGES.map((name): FaultStep => ({ name, moments: name === "accept" ? THROUGH : AROUND })),
  // In the thread that writes, or on the connection that does: the transaction as a whole.
  { name: "commit", moments: AROUND },
  { name: "answer", moments: AROUND },
  { name: "gathered", moments: THROUGH, rare: true },
  { name: "begin", moments: THROUGH },
  { name: "run", moments: THROUGH },
  { name: "end", moments: THROUGH },
  { name: "postpone", moments: THROUGH, rare: true },
  { name: "event", moments: THROUGH },
  { name: "deliver", moments: THROUGH },
  { name: "heartbeat", moments: AROUND },
  { name: "step", moments: THROUGH },
  { name: "settle", moments: THROUGH },
  { name: "turn", moments: THROUGH, rare: true },
  { name: "turn-stored", moments: THROUGH, rare: true },
];

/** The environment variable that names the step: `accept:after:17` kills the process at the 17th time. */
export const FAULT_VARIABLE = "REVEILLE_FAULT";
