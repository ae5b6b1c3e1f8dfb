/** One thing that `reveille doctor` has looked at. */
export interface DoctorFinding {
  /** `problem`: something that has to hold does not. */
  readonly level: "ok" | "warning" | "problem";
  readonly about: "node" | "configuration" | "state folder" | "transforms";
  readonly message: string;
  /** Of a wall around transforms: what a transform cannot do, and what sees to that. */
  readonly wall?: { readonly cannot: string; readonly holds: boolean; readonly by: string };
}
