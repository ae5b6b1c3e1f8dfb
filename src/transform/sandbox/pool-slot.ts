import type { Logger } from "../../core/host.ts";
import type { SandboxProcess } from "./process.ts";
import { SandboxStartError } from "../errors.ts";

export interface PoolSlotOptions {
  /** Starts a process. */
  readonly open: () => SandboxProcess;
  /** Takes a process into use that is ready. */
  readonly join: (process: SandboxProcess) => void;
  /** Sends it nothing more; true when it has nothing in progress. */
  readonly retire: (process: SandboxProcess) => boolean;
  /** Calls after which a process is replaced. */
  readonly maxCalls: number;
  readonly logger: Logger;
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;

/**
 * Keeps one place of a pool filled: a process that has ended gets a successor at once, and one that has had
 * its calls goes when its successor is warm. A successor that cannot be loaded is tried again, ever later.
 */
export class PoolSlot {
  readonly #options: PoolSlotOptions;
  #serving: SandboxProcess | undefined;
  #coming: SandboxProcess | undefined;
  /** Those that still have calls in progress. */
  readonly #leaving = new Set<SandboxProcess>();
  #retry: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isClosed = false;
  #restarts = 0;

  constructor(options: PoolSlotOptions) {
    this.#options = options;
  }

  /** Processes that have ended unasked. */
  get restarts(): number {
    return this.#restarts;
  }

  /** The first process; rejects when it cannot be loaded, and then nothing is tried again. */
  async start(): Promise<void> {
    const process = this.#options.open();
    this.#coming = process;
    await process.ready;
    if (process.isOver) throw new SandboxStartError("ended as soon as it was ready");
    this.#arrive(process);
  }

  /** The process that serves has answered a call. */
  answered(process: SandboxProcess): void {
    this.#delayMs = FIRST_DELAY_MS;
    if (this.#leaving.has(process) && process.depth === 0) process.kill("was replaced");
    else if (process === this.#serving && process.sent >= this.#options.maxCalls) this.#open();
  }

  /** One of its processes has ended. */
  ended(process: SandboxProcess, reason: string): void {
    this.#leaving.delete(process);
    if (process !== this.#serving) return;
    this.#serving = undefined;
    if (this.#isClosed) return;
    this.#restarts++;
    this.#options.logger.info({ reason }, "a process for transforms has ended");
    // One that ends by itself would do so again and again.
    if (process.sent === 0) this.#wait(`it ended before it was called: ${reason}`);
    else this.#open();
  }

  close(reason: string): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    for (const process of [this.#serving, this.#coming, ...this.#leaving]) process?.kill(reason);
  }

  #open(): void {
    if (this.#isClosed || this.#coming !== undefined || this.#retry !== undefined) return;
    const process = this.#options.open();
    this.#coming = process;
    process.ready.then(
      // It may have ended since.
      () => (process.isOver ? this.#miss("it ended as soon as it was ready") : this.#arrive(process)),
      (error: unknown) => this.#miss(error),
    );
  }

  #arrive(process: SandboxProcess): void {
    this.#coming = undefined;
    const old = this.#serving;
    this.#serving = process;
    this.#options.join(process);
    if (old === undefined) return;
    this.#leaving.add(old);
    if (this.#options.retire(old)) old.kill("was replaced");
  }

  #miss(error: unknown): void {
    this.#coming = undefined;
    this.#wait(String(error));
  }

  #wait(reason: string): void {
    if (this.#isClosed || this.#retry !== undefined) return;
    const retryMs = this.#delayMs;
    this.#options.logger.error({ reason, retryMs }, "a process for transforms has failed, and is started again");
    this.#delayMs = Math.min(retryMs * 2, MAX_DELAY_MS);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#open();
    }, retryMs).unref();
  }
}
