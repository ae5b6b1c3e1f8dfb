import type { Clock } from "../core/host.ts";
import type { Operations } from "../index.ts";

/** What the operator's part of the API reads from and acts on. */
export interface ApiSources {
  /** Throws a `StoreError` while the ingress does not run. */
  readonly operations: () => Operations;
  readonly clock: Clock;
}
