import type { CarriedOut, Runner, TakenRun } from "../../../src/dispatch/context.ts";

/** Leaves the run where it is: the runner is done with it. */
export const ENDED: CarriedOut = { kind: "ended" };

/** Gives an outcome that has the run tried again, as after an attempt that failed. */
export function again(dueAt: number, how: { holdsLane: boolean; replied: boolean }): CarriedOut {
  return { kind: "postponed", dueAt, ...how };
}

/** Gives the outcome of a run that the host would not begin. */
export function refused(dueAt: number): CarriedOut {
  return { kind: "postponed", dueAt, holdsLane: true, replied: false, refused: true };
}

/** A runner whose outcomes a test scripts, and which remembers what it was given. */
export class ScriptedRunner implements Runner {
  readonly begun: TakenRun[] = [];
  readonly stopped: string[] = [];
  readonly #waiting = new Map<string, () => void>();
  underWay = 0;
  most = 0;
  /** By default a run is in progress until {@link end}. */
  onRun: (run: TakenRun, stop: AbortSignal) => Promise<CarriedOut> = async (run) => {
    await new Promise<void>((resolve) => this.#waiting.set(run.runId, resolve));
    return ENDED;
  };

  get ids(): readonly string[] {
    return this.begun.map(({ runId }) => runId);
  }

  async carryOut(run: TakenRun, stop: AbortSignal): Promise<CarriedOut> {
    this.begun.push(run);
    this.most = Math.max(this.most, ++this.underWay);
    stop.addEventListener("abort", () => {
      this.stopped.push(run.runId);
      this.end(run.runId);
    });
    try {
      return await this.onRun(run, stop);
    } finally {
      this.underWay--;
    }
  }

  /** Ends runs that are in progress. */
  end(...runIds: string[]): void {
    for (const runId of runIds) {
      this.#waiting.get(runId)?.();
      this.#waiting.delete(runId);
    }
  }

  /** Ends what is in progress and whatever begins from now on. */
  finish(): void {
    this.onRun = async () => ENDED;
    this.end(...this.#waiting.keys());
  }
}
