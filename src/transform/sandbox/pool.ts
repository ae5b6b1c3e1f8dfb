import { setTimeout } from "node:timers/promises";
import type { TransformsConfig } from "../../config/transforms.ts";
import type { Logger } from "../../core/host.ts";
import { TransformError, type TransformCall } from "../call.ts";
import { CallSchedule } from "./call-schedule.ts";
import type { SandboxIsolation } from "./isolation/describe.ts";
import { detectIsolation } from "./isolation/detect.ts";
import { millisecondsText } from "./exit-reason.ts";
import { ModuleLog } from "./module-log.ts";
import { PoolSlot } from "./pool-slot.ts";
import { PoolWatch } from "./pool-watch.ts";
import { SandboxCall } from "./call.ts";
import type { SandboxModule } from "./messages.ts";
import { SandboxProcess, type SandboxEnd, type SandboxProcessSettings } from "./process.ts";

export interface SandboxPoolOptions {
  /** The snapshot, and how messages name it. */
  readonly folder: { readonly path: string; readonly name: string };
  readonly modules: readonly SandboxModule[];
  readonly limits: TransformsConfig;
  readonly logger: Logger;
  /** Of each module. Default: 30 seconds. */
  readonly loadTimeoutMs?: number;
  /** Default: the strongest that this machine has. */
  readonly isolation?: SandboxIsolation;
  /** The program of the processes, instead of the sandbox's own worker. */
  readonly entry?: string;
  /** Ends the start, and all processes with it. Means nothing for a pool that has started. */
  readonly signal?: AbortSignal | undefined;
}

export interface SandboxPoolFigures {
  /** Memory of the process that answered last, in bytes; `undefined` where it cannot be known. */
  readonly rssBytes: number | undefined;
  /** Settled in all, one way or the other. */
  readonly calls: number;
  /** Processes that have ended unasked. */
  readonly restarts: number;
  readonly waiting: number;
}

interface SlotEvents {
  readonly onAnswer: (process: SandboxProcess) => void;
  readonly onEnd: (process: SandboxProcess, reason: string) => void;
}

const LOAD_TIMEOUT_MS = 30_000;
const MAX_TICK_MS = 25;
const MIN_WAIT_MS = 10_000;
/** Processes that may end one after the other before a call at their head has begun, until it fails for it. */
const MAX_RESTORES = 10;
const CLOSE_TIMEOUT_MS = 5_000;
export const CLOSING = "the gateway is closing, or its configuration has changed";

/**
 * Warm processes that run the functions of one file, or load several files once. See messages.ts for the
 * protocol, isolation/ for what confines a process, and call-schedule.ts for the order of calls.
 */
export class SandboxPool {
  readonly #options: SandboxPoolOptions;
  readonly #settings: SandboxProcessSettings;
  readonly #schedule: CallSchedule;
  readonly #watch: PoolWatch;
  readonly #slots: readonly PoolSlot[];
  /** Those that may still be there. */
  readonly #processes = new Set<SandboxProcess>();
  #last: SandboxProcess | undefined;
  #calls = 0;
  #isClosed = false;

  private constructor(options: SandboxPoolOptions, isolation: SandboxIsolation) {
    const { modules, limits, logger, folder, entry, loadTimeoutMs = LOAD_TIMEOUT_MS } = options;
    this.#options = options;
    this.#schedule = new CallSchedule({ modules: modules.length, workers: limits.workers });
    const tickMs = Math.min(MAX_TICK_MS, Math.ceil(limits.timeoutMs / 4));
    this.#watch = new PoolWatch({ tickMs, look: ({ isThorough }) => this.#look({ isThorough, patienceMs: tickMs }) });
    const log = new ModuleLog(logger);
    this.#settings = { isolation, folder, modules, limits, loadTimeoutMs, log, now: this.#watch.now, entry };
    this.#slots = Array.from({ length: limits.workers }, () => this.#slot());
  }

  /**
   * Resolves when every process has loaded every module. Rejects with a {@link SandboxLoadError} when a module
   * is broken, with a {@link SandboxStartError} when processes cannot be started, with the reason of `signal`
   * when that is aborted; nothing is left running.
   */
  static async start(options: SandboxPoolOptions): Promise<SandboxPool> {
    const { signal } = options;
    const isolation = options.isolation ?? (await detectIsolation());
    signal?.throwIfAborted();
    const pool = new SandboxPool(options, isolation);
    const abort = (): void => void pool.close();
    signal?.addEventListener("abort", abort);
    try {
      await Promise.all(pool.#slots.map((slot) => slot.start()));
      signal?.throwIfAborted();
    } catch (error) {
      await pool.close();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    return pool;
  }

  /**
   * Carries out a call of the module at that place of the list: resolves to what it returned, as data that
   * no one has looked at, possibly `undefined`; rejects with a {@link TransformError}.
   */
  async call(module: number, call: TransformCall): Promise<unknown> {
    if (this.#isClosed) throw new TransformError("busy", CLOSING);
    const waiting = this.#schedule.waitingOf(module);
    if (waiting >= this.#options.limits.maxWaiting)
      throw new TransformError("busy", `${waiting} calls of it wait already`);
    this.#watch.wake();
    const sent = new SandboxCall(module, call, this.#watch.now());
    this.#schedule.add(sent);
    try {
      return await sent.promise;
    } finally {
      this.#calls++;
    }
  }

  figures(): SandboxPoolFigures {
    const { waiting } = this.#schedule;
    const restarts = this.#slots.reduce((sum, slot) => sum + slot.restarts, 0);
    return { rssBytes: this.#last?.memoryBytes, calls: this.#calls, restarts, waiting };
  }

  /** Ends all processes; calls that are in progress or wait are refused as busy. Resolves when nothing is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watch.stop();
    for (const slot of this.#slots) slot.close(CLOSING);
    for (const call of this.#schedule.expire(Infinity)) call.fail("busy", CLOSING);
    const patience = new AbortController();
    const gone = Promise.all([...this.#processes].map((process) => process.ended));
    const expired = setTimeout(CLOSE_TIMEOUT_MS, undefined, { signal: patience.signal });
    await Promise.race([gone, expired]);
    patience.abort();
    await expired.catch(() => {});
  }

  #slot(): PoolSlot {
    const { limits, logger } = this.#options;
    const slot: PoolSlot = new PoolSlot({
      open: () =>
        this.#open({
          onAnswer: (process) => slot.answered(process),
          onEnd: (process, reason) => slot.ended(process, reason),
        }),
      join: (process) => this.#schedule.join(process),
      retire: (process) => this.#schedule.retire(process),
      maxCalls: limits.maxCalls,
      logger,
    });
    return slot;
  }

  #open(slot: SlotEvents): SandboxProcess {
    const process: SandboxProcess = new SandboxProcess(this.#settings, {
      onAnswer: () => {
        this.#last = process;
        this.#schedule.refill(process);
        slot.onAnswer(process);
      },
      onEnd: (end) => {
        this.#ended(process, end);
        slot.onEnd(process, end.reason);
      },
    });
    this.#processes.add(process);
    void process.ended.then(() => this.#processes.delete(process));
    this.#watch.wake();
    return process;
  }

  #ended(process: SandboxProcess, { reason, calls, hasBegun, lastAnswered }: SandboxEnd): void {
    const [head, ...behind] = calls;
    // A call that had not begun ended nothing; what those before have left behind may have.
    const isBlamed = head !== undefined && (hasBegun || head.restores >= MAX_RESTORES);
    this.#schedule.leave(process, isBlamed ? head.module : undefined);
    if (this.#isClosed) {
      for (const call of calls) call.fail("busy", CLOSING);
      return;
    }
    if (isBlamed) {
      head.fail("failed", reason);
      this.#schedule.restore(behind);
      return;
    }
    const module = lastAnswered === undefined ? undefined : this.#options.modules[lastAnswered]?.file;
    if (module !== undefined) {
      const fields = { module: `${this.#options.folder.name}/${module}`, reason };
      this.#options.logger.warn(fields, "a process for transforms has ended after the last call of a module");
    }
    if (head !== undefined) head.restores++;
    this.#schedule.restore(calls);
  }

  #look(round: { readonly isThorough: boolean; readonly patienceMs: number }): boolean {
    for (const process of this.#processes) process.check(round);
    if (round.isThorough) this.#expire();
    return this.#schedule.waiting > 0 || [...this.#processes].some((process) => process.isBusy);
  }

  #expire(): void {
    const waitMs = Math.max(MIN_WAIT_MS, 5 * this.#options.limits.timeoutMs);
    for (const call of this.#schedule.expire(this.#watch.now() - waitMs)) {
      call.fail("busy", `no process was free for it within ${millisecondsText(waitMs)}`);
    }
  }
}
