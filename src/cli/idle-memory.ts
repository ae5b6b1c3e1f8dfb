import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const CHECK_MS = 60_000;
/** The share of the time between two checks that a quiet process is at work. */
const QUIET = 0.05;
/** Memory without an object in it that is worth a collection. */
const WORTH_BYTES = 32 * 1_048_576;

type Collect = (options: {
  readonly type: "major";
  readonly execution: "sync";
  readonly flavor: "last-resort";
}) => void;

/**
 * Gives memory back once a burst is over. V8 takes up to 128 MiB for the young objects of a burst, and keeps them until
 * a collection of everything, which comes with load alone: without this, a gateway that was busy for a minute weighs
 * twice as much for days.
 *
 * A collection takes some 30 ms, and V8 discards compiled code with the shapes of objects that are gone: calls of the
 * next seconds cost up to half as much again. So it waits for a quiet minute.
 */
export class IdleMemory {
  readonly #timer: NodeJS.Timeout;
  #collect: Collect | undefined;
  #before = performance.eventLoopUtilization();

  constructor(checkMs = CHECK_MS) {
    this.#timer = setInterval(() => this.#check(), checkMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    if (utilization > QUIET) return;
    const { total_physical_size: held, used_heap_size: used } = getHeapStatistics();
    if (held - used < WORTH_BYTES) return;
    this.#collect ??= collector();
    this.#collect({ type: "major", execution: "sync", flavor: "last-resort" });
  }
}

/** Node offers none to a program that was started without a flag. */
function collector(): Collect {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as Collect;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
