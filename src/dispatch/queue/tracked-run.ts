import type { OpenRun } from "../../storage/delivery-store.ts";
import type { Place } from "./lanes.ts";
import { Linked } from "./linked-list.ts";
import type { Alarm } from "./timed-queue.ts";

/** An open run and where it stands; as a node, in the queue of wakes or among those that are dropped. */
export class TrackedRun extends Linked<TrackedRun> {
  run: OpenRun;
  /** Its place in its lane, also while it holds the lane. */
  place: Place<TrackedRun> | undefined = undefined;
  /** Set while it waits for its time. */
  due: Alarm<TrackedRun> | undefined = undefined;
  /** Set while it waits and would be dropped. */
  expiry: Alarm<TrackedRun> | undefined = undefined;
  /** The time of `performance.now()` by which it must have begun. */
  expiresMs = Infinity;
  /** The time of `performance.now()` from which on it gathers no more calls. */
  gathersUntilMs = Infinity;
  /** Set while it is carried out. */
  stop: AbortController | undefined = undefined;
  /** True once somebody else has settled it, which observers have been told. */
  withdrawn = false;

  constructor(run: OpenRun) {
    super();
    this.run = run;
  }
}
