import type { TransformCall } from "../call.ts";
import { TransformError } from "../call.ts";
import { SandboxLoadError } from "../errors.ts";
import { millisecondsText } from "./exit-reason.ts";
import { failuresAmong } from "./failures-among.ts";
import { describeIsolation } from "./isolation/describe.ts";
import type { SandboxIsolation } from "./isolation/describe.ts";
import { detectIsolation } from "./isolation/detect.ts";
import type { SandboxLoadFailure, SandboxModule } from "./messages.ts";
import { CLOSING, SandboxPool } from "./pool.ts";
import type { SandboxPoolFigures, SandboxPoolOptions } from "./pool.ts";

export interface ModulePoolsOptions extends SandboxPoolOptions {
  /** Time that a process that is not kept warm waits for its next call. Default: one minute. */
  readonly idleMs?: number;
}

/** One file of the folder: its functions share processes, and share them with no other file. */
interface FilePool {
  readonly modules: SandboxModule[];
  /** Of each of its modules, the place in the list of all modules. */
  readonly places: number[];
  pool: SandboxPool | undefined;
  starting: Promise<SandboxPool> | undefined;
  /** Calls that are not settled. */
  active: number;
  usedAt: number;
}

const IDLE_MS = 60_000;
const MIN_WAIT_MS = 10_000;
/** Times `workers`: pools that exist at once. */
const MAX_POOLS = 4;

/**
 * The processes of one configuration's transforms. Each file has processes of its own, so no module can read
 * or answer the calls of another one, and a module that hangs delays only its own calls.
 *
 * `workers` processes stay warm. With more files than that, the process of a file starts with its first call
 * and ends after a minute without one: see docs/decisions/0018-a-process-for-each-transform.md for the numbers.
 */
export class ModulePools {
  readonly #options: ModulePoolsOptions;
  readonly #isolation: SandboxIsolation;
  readonly #files: readonly FilePool[];
  readonly #byModule: readonly { readonly file: FilePool; readonly at: number }[];
  readonly #abort = new AbortController();
  /** Starts that wait until another pool is idle; at most one for each file. */
  readonly #waiting = new Set<() => void>();
  #pools = 0;
  /** Pools that stay when they are idle. */
  #warmPools: number;
  #last: FilePool | undefined;
  #sweep: NodeJS.Timeout | undefined;

  private constructor(options: ModulePoolsOptions, isolation: SandboxIsolation) {
    this.#options = options;
    this.#warmPools = options.limits.workers;
    this.#isolation = isolation;
    const files = new Map<string, FilePool>();
    this.#byModule = options.modules.map((module, place) => {
      const file = files.get(module.file) ?? newFilePool();
      files.set(module.file, file);
      file.places.push(place);
      return { file, at: file.modules.push(module) - 1 };
    });
    this.#files = [...files.values()];
  }

  /**
   * Resolves when every module has been loaded once and `workers` processes are warm. Rejects as
   * {@link SandboxPool.start} does, with the failures of all modules; nothing is left running.
   */
  static async start(options: ModulePoolsOptions): Promise<ModulePools> {
    const { signal, limits, logger } = options;
    const isolation = options.isolation ?? (await detectIsolation());
    signal?.throwIfAborted();
    const pools = new ModulePools(options, isolation);
    const warm = pools.#files.slice(0, limits.workers);
    const rest = pools.#files.slice(limits.workers);
    const starts = await Promise.allSettled([
      ...warm.map((file) => pools.#warm(file, signal)),
      ...(rest.length > 0 ? [pools.#tryLoading(rest, signal)] : []),
    ]);
    const errors = starts.flatMap((start): unknown[] => (start.status === "rejected" ? [start.reason] : []));
    if (errors.length === 0) {
      const facts = { processes: warm.length * pools.#processesOfFile, isolation: describeIsolation(isolation) };
      logger.info(facts, "transforms are ready");
      return pools;
    }
    await pools.close();
    signal?.throwIfAborted();
    const failures = errors.flatMap((error) => (error instanceof SandboxLoadError ? error.failures : []));
    const other = errors.find((error) => !(error instanceof SandboxLoadError));
    if (other instanceof Error) throw other;
    throw new SandboxLoadError(failures);
  }

  /** Calls the module at that place of the list: see {@link SandboxPool.call}. */
  async call(module: number, call: TransformCall): Promise<unknown> {
    const found = this.#byModule[module];
    if (found === undefined) throw new RangeError(`there is no module ${module}`);
    if (this.#abort.signal.aborted) throw new TransformError("busy", CLOSING);
    const { file, at } = found;
    // A pool that runs counts its own.
    if (file.pool === undefined && file.active >= this.#options.limits.maxWaiting)
      throw new TransformError("busy", `${file.active} calls of it wait already`);
    file.active++;
    this.#last = file;
    try {
      return await (file.pool ?? (await this.#open(file))).call(at, call);
    } finally {
      file.active--;
      file.usedAt = performance.now();
      if (file.active === 0) this.#becameIdle();
    }
  }

  figures(): SandboxPoolFigures {
    const all = this.#files.flatMap(({ pool }) => (pool === undefined ? [] : [pool.figures()]));
    const sum = (name: "calls" | "restarts" | "waiting"): number => all.reduce((total, one) => total + one[name], 0);
    const rssBytes = this.#last?.pool?.figures().rssBytes;
    return { rssBytes, calls: sum("calls"), restarts: sum("restarts"), waiting: sum("waiting") };
  }

  /** Keeps no process warm from now on: each ends after a minute without a call, and starts with the next one. */
  shrink(): void {
    this.#warmPools = 0;
    this.#becameIdle();
  }

  /** Ends all processes and refuses unsettled calls as busy. Resolves when no process is left. */
  async close(): Promise<void> {
    clearTimeout(this.#sweep);
    this.#abort.abort(new TransformError("busy", CLOSING));
    for (const wake of this.#waiting) wake();
    await Promise.all(
      this.#files.map(async ({ pool, starting }) => {
        await pool?.close();
        await starting?.catch(() => {});
      }),
    );
  }

  /** Processes that one file may have: `workers` is shared out, and each file has one. */
  get #processesOfFile(): number {
    return Math.max(1, Math.floor(this.#options.limits.workers / this.#files.length));
  }

  async #warm(file: FilePool, signal: AbortSignal | undefined): Promise<void> {
    this.#pools++;
    file.pool = await this.#startPool([file], { workers: this.#processesOfFile, signal });
  }

  /** Loads modules in a process that is never called, so that a broken one refuses the configuration. */
  async #tryLoading(files: readonly FilePool[], signal: AbortSignal | undefined): Promise<void> {
    const load = (some: readonly FilePool[]): Promise<readonly SandboxLoadFailure[]> => this.#failuresOf(some, signal);
    const failures = await failuresAmong(files, { atOnce: this.#options.limits.workers, load });
    if (failures.length > 0) throw new SandboxLoadError(failures);
  }

  async #failuresOf(
    files: readonly FilePool[],
    signal: AbortSignal | undefined,
  ): Promise<readonly SandboxLoadFailure[]> {
    try {
      const pool = await this.#startPool(files, { workers: 1, signal });
      await pool.close();
      return [];
    } catch (error) {
      if (error instanceof SandboxLoadError) return error.failures;
      throw error;
    }
  }

  async #startPool(
    files: readonly FilePool[],
    { workers, signal }: { readonly workers: number; readonly signal: AbortSignal | undefined },
  ): Promise<SandboxPool> {
    const places = files.flatMap((file) => file.places);
    const modules = files.flatMap((file) => file.modules);
    const limits = { ...this.#options.limits, workers };
    try {
      return await SandboxPool.start({ ...this.#options, isolation: this.#isolation, modules, limits, signal });
    } catch (error) {
      if (!(error instanceof SandboxLoadError)) throw error;
      throw new SandboxLoadError(error.failures.map((one) => ({ ...one, module: places[one.module] ?? 0 })));
    }
  }

  #open(file: FilePool): Promise<SandboxPool> {
    file.starting ??= this.#openNow(file).finally(() => (file.starting = undefined));
    return file.starting;
  }

  async #openNow(file: FilePool): Promise<SandboxPool> {
    const { signal } = this.#abort;
    await this.#takePlace();
    try {
      const pool = await this.#startPool([file], { workers: 1, signal });
      if (signal.aborted) await pool.close();
      signal.throwIfAborted();
      file.pool = pool;
      return pool;
    } catch (error) {
      this.#freePlace();
      if (signal.aborted) throw new TransformError("busy", CLOSING, { cause: error });
      if (error instanceof SandboxLoadError)
        throw new TransformError("failed", `could not be loaded: ${error.message}`, { cause: error });
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.logger.warn({ reason }, "a process for a transform cannot be started");
      throw new TransformError("busy", reason, { cause: error });
    }
  }

  /** Waits until one pool more may exist; ends the pool that has been idle for the longest time. */
  async #takePlace(): Promise<void> {
    const waitMs = Math.max(MIN_WAIT_MS, 5 * this.#options.limits.timeoutMs);
    const dueAt = performance.now() + waitMs;
    while (this.#pools >= MAX_POOLS * this.#options.limits.workers) {
      const [idle] = this.#idlePools();
      if (idle !== undefined) {
        await this.#end(idle);
        continue;
      }
      const leftMs = dueAt - performance.now();
      if (leftMs <= 0)
        throw new TransformError("busy", `no process was free for it within ${millisecondsText(waitMs)}`);
      await this.#nextIdle(leftMs);
      if (this.#abort.signal.aborted) throw new TransformError("busy", CLOSING);
    }
    this.#pools++;
  }

  async #nextIdle(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  #freePlace(): void {
    this.#pools--;
    this.#wakeOne();
  }

  #wakeOne(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    first();
  }

  #becameIdle(): void {
    this.#wakeOne();
    if (this.#sweep !== undefined || this.#abort.signal.aborted || this.#pools <= this.#warmPools) return;
    this.#sweep = setTimeout(() => {
      this.#sweep = undefined;
      void this.#endIdle();
    }, this.#options.idleMs ?? IDLE_MS).unref();
  }

  /** Ends pools that were idle for long, and keeps as many as stay warm. */
  async #endIdle(): Promise<void> {
    const idleMs = this.#options.idleMs ?? IDLE_MS;
    const before = performance.now() - idleMs;
    const spare = this.#pools - this.#warmPools;
    const long = this.#idlePools().filter(({ usedAt }) => usedAt <= before);
    await Promise.all(long.slice(0, Math.max(0, spare)).map((file) => this.#end(file)));
    this.#becameIdle();
  }

  /** The one that was used least recently comes first. */
  #idlePools(): readonly FilePool[] {
    const idle = this.#files.filter(({ pool, active }) => pool !== undefined && active === 0);
    return idle.toSorted((one, other) => one.usedAt - other.usedAt);
  }

  async #end(file: FilePool): Promise<void> {
    const { pool } = file;
    file.pool = undefined;
    await pool?.close();
    this.#freePlace();
  }
}

function newFilePool(): FilePool {
  return { modules: [], places: [], pool: undefined, starting: undefined, active: 0, usedAt: 0 };
}
