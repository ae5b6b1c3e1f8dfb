import { join } from "node:path";
import type { DeliveryDetail, DeliverySummary } from "../../core/delivery.ts";
import { RUN_STEPS, type RunStep } from "../../core/run.ts";
import type { GatewayHost } from "../../core/host.ts";
import type { CommitMeasurements } from "../../core/measurements.ts";
import type {
  AttemptEnd,
  Backlog,
  DeliveryPage,
  DeliveryQuery,
  DeliveryState,
  DeliveryStore,
  PruneLimits,
  PruneOutcome,
  RemoveOutcome,
  Replayable,
  Settled,
  StepDone,
  StoredRun,
} from "../delivery-store.ts";
import type { OpenRun } from "../open-run.ts";
import type { StatsPage, StatsQuery } from "../delivery-stats.ts";
import type { AcceptOutcome, CarriedOutAtOnce, NewDelivery } from "../new-delivery.ts";
import { codeOfReplyOutcome, codeOfSettled, RUNS_PER_DELIVERY } from "./codes.ts";
import { SqliteDatabase } from "./engine/database.ts";
import { snapshotReader } from "./engine/row-query.ts";
import { siblingUrl } from "./engine/start-thread.ts";
import { notFound, reading, SqliteOperationalState } from "./operational-state.ts";
import { acceptRow } from "./operations/accept-row.ts";
import { acceptOutcome, type AcceptResult } from "./operations/accept.ts";
import { carryOutAtOnce } from "./carry-out-at-once.ts";
import type { ResolveResult } from "./operations/resolve.ts";
import type { FailedRunIndex } from "./operations/run.ts";
import { deliveryId, type DeliveryKey, newTag, parseDeliveryId, parseRunId, runIds, type RunKey } from "./public-id.ts";
import { DigestUpkeep } from "./digest-upkeep.ts";
import { checkListQuery } from "./readers/delivery-list.ts";
import { checkStatsQuery } from "./readers/delivery-stats.ts";
import { FreshRuns } from "./readers/fresh-runs.ts";
import { OpenRunReader } from "./readers/open-runs.ts";
import { ReplayableReader } from "./readers/replayable.ts";
import { StoredDeliveryReader } from "./readers/stored-delivery.ts";

/** Deliveries that go in one transaction: calls that come meanwhile wait for no more. */
const MAX_AT_ONCE = 64;

/** To be among the modules of the {@link SqliteDatabase} that a {@link SqliteDeliveryStore} is opened on. */
export const sqliteStoreModule: URL = siblingUrl("store-module", import.meta.url);

/**
 * The delivery store of one gateway on one SQLite file.
 *
 * Writes go to the writer thread, where those that arrive together share a commit. Reads of a few rows are
 * queries on the main thread; lists and counts are read in a thread of their own.
 */
export class SqliteDeliveryStore extends SqliteOperationalState implements DeliveryStore {
  readonly #database: SqliteDatabase;
  readonly #ownsDatabase: boolean;
  readonly #reader: StoredDeliveryReader;
  readonly #openRuns: OpenRunReader;
  readonly #replays: ReplayableReader;
  readonly #digests: DigestUpkeep;
  readonly #inSnapshot: ReturnType<typeof snapshotReader>;
  readonly #fresh = new FreshRuns();
  /** Given out here, not by the writer: its answer to the usual call is then nothing at all. */
  #nextSeq: number;
  #closing: Promise<void> | undefined;

  private constructor(database: SqliteDatabase, ownsDatabase: boolean) {
    super(database);
    this.#database = database;
    this.#ownsDatabase = ownsDatabase;
    this.#reader = new StoredDeliveryReader(database.reader);
    this.#openRuns = new OpenRunReader(database.reader);
    this.#replays = new ReplayableReader(database.reader);
    this.#inSnapshot = snapshotReader(database.reader);
    this.#nextSeq = this.#reader.lastSeq() + 1;
    this.#digests = new DigestUpkeep(database, () => this.#nextSeq);
    this.#digests.start();
  }

  /**
   * The database must have been opened with {@link sqliteStoreModule}; only one store may be open on it.
   * Closing the store closes the database too when it owns it.
   */
  static open(database: SqliteDatabase, options: { ownsDatabase?: boolean } = {}): SqliteDeliveryStore {
    return new SqliteDeliveryStore(database, options.ownsDatabase ?? false);
  }

  async accept(delivery: NewDelivery, atOnce?: CarriedOutAtOnce): Promise<AcceptOutcome> {
    this.assertOpen();
    const seq = this.#nextSeq;
    const tag = newTag();
    const row = acceptRow(seq, tag, delivery);
    this.#nextSeq++;
    const accepting = this.write<AcceptResult>("store.accept", row);
    const carriedOut = atOnce && carryOutAtOnce(this.#database, { seq, tag, run: seq * RUNS_PER_DELIVERY }, atOnce);
    const result = await accepting;
    if (result === undefined) {
      const ids = runIds(seq, tag, delivery.runs.length);
      const accepted = { kind: "accepted", deliveryId: deliveryId(seq, tag), runIds: ids } as const;
      if (carriedOut !== undefined && (await carriedOut)) return { ...accepted, isDone: true };
      if (delivery.held === undefined) this.#fresh.add(seq, tag, delivery.runs);
      return accepted;
    }
    const outcome = acceptOutcome({ seq, tag }, delivery.runs.length, result);
    if (outcome.kind === "accepted") {
      if (outcome.superseded !== undefined) this.#digests.noteReason();
      for (const id of outcome.superseded?.runIds ?? []) this.#fresh.forget(runKey(id));
    }
    return outcome;
  }

  /** Those that are open at the time of the call; runs accepted later are not among them. */
  openRuns(): AsyncIterable<OpenRun> {
    return this.#openRuns.before(this.#nextSeq * RUNS_PER_DELIVERY, () => this.assertOpen());
  }

  async loadRun(runId: string): Promise<StoredRun> {
    this.assertOpen();
    const key = runKey(runId);
    const run = this.#fresh.take(key) ?? reading(() => this.#reader.run(key));
    if (run === undefined) throw notFound(runId);
    return run;
  }

  async beginAttempt(runId: string, attempt: { number: number; startedAt: number }): Promise<void> {
    await this.#change("store.beginAttempt", runId, [attempt.number, attempt.startedAt]);
  }

  async endAttempt(runId: string, end: AttemptEnd): Promise<void> {
    const usage = end.usage === undefined ? null : JSON.stringify(end.usage);
    const activity = end.activity === undefined || end.activity.length === 0 ? null : JSON.stringify(end.activity);
    await this.#change("store.endAttempt", runId, [end.endedAt, end.status, end.error, end.reply, usage, activity]);
  }

  async recordStep(runId: string, step: RunStep, { at, outcome }: StepDone = {}): Promise<void> {
    const code = outcome === undefined ? null : codeOfReplyOutcome(outcome);
    await this.#change("store.recordStep", runId, [RUN_STEPS.indexOf(step), code, at ?? null]);
  }

  async postpone(runId: string, until: { dueAt: number; reason: string }): Promise<void> {
    this.#digests.noteReason();
    await this.#change("store.postpone", runId, [until.dueAt, until.reason]);
  }

  async stopCoalescing(runId: string): Promise<void> {
    await this.#change("store.stopCoalescing", runId, []);
  }

  async hold(runId: string, reason: string): Promise<void> {
    this.#digests.noteReason();
    await this.#change("store.hold", runId, [reason]);
  }

  settle(runId: string, settled: Settled): Promise<void> {
    return this.settleAll([runId], settled);
  }

  async settleAll(runIds: readonly string[], settled: Settled): Promise<void> {
    this.assertOpen();
    const args: (string | number | null)[] = [codeOfSettled(settled.state), settled.reason, settled.at ?? null];
    if (settled.reason !== null) this.#digests.noteReason();
    for (const id of runIds) {
      const key = runKey(id);
      args.push(key.run, key.tag);
      this.#fresh.forget(key);
    }
    const failed = await this.write<FailedRunIndex>("store.settle", args);
    if (failed !== undefined) throw notFound(runIds[failed]!);
  }

  async list(query: DeliveryQuery): Promise<DeliveryPage> {
    checkListQuery(query);
    return this.read("store.list", query);
  }

  async stats(query: StatsQuery): Promise<StatsPage> {
    checkStatsQuery(query);
    return this.read("store.stats", query);
  }

  async get(id: string): Promise<DeliveryDetail | undefined> {
    return this.#find(id, (key) => this.#reader.delivery(key));
  }

  async body(id: string): Promise<Uint8Array | undefined> {
    return this.#find(id, (key) => this.#reader.body(key));
  }

  async replayable(id: string): Promise<Replayable | undefined> {
    return this.#find(id, (key) => this.#replays.read(key));
  }

  async replaysOf(id: string): Promise<readonly Pick<DeliverySummary, "id" | "state">[]> {
    return (await this.#find(id, (key) => this.#replays.replaysOf(key))) ?? [];
  }

  async duplicatesOf(id: string): Promise<readonly Pick<DeliverySummary, "id" | "receivedAt">[]> {
    return (await this.#find(id, (key) => this.#reader.duplicatesOf(key))) ?? [];
  }

  async stateFor(id: string, credentialId: string): Promise<DeliveryState | undefined> {
    return this.#find(id, (key) => this.#reader.stateFor(key, credentialId));
  }

  async resolve(id: string, { at, note }: { at: number; note: string | null }): Promise<boolean> {
    this.assertOpen();
    const key = parseDeliveryId(id);
    const result = key && (await this.write<ResolveResult>("store.resolve", [key.seq, key.tag, at, note]));
    if (result === undefined || result === -1) throw notFound(id);
    return result === 1;
  }

  /** Throws a RangeError for more than 64. */
  async remove(deliveryIds: readonly string[], now: number): Promise<RemoveOutcome> {
    this.assertOpen();
    if (deliveryIds.length > MAX_AT_ONCE) throw new RangeError(`At most ${MAX_AT_ONCE} deliveries go at a time.`);
    const args: (string | number)[] = [now];
    let unknown = 0;
    for (const id of deliveryIds) {
      const key = parseDeliveryId(id);
      if (key === undefined) unknown++;
      else args.push(key.seq, key.tag);
    }
    const [removed, emptied, kept] = await this.write<[number, number, number]>("store.remove", args);
    return { removed, emptied, kept: kept + unknown };
  }

  async prune(limits: PruneLimits): Promise<PruneOutcome> {
    this.assertOpen();
    const { now, removeBefore, emptyBefore, maxBytes, most = MAX_AT_ONCE } = limits;
    let [removed, emptied, more] = [0, 0, 1];
    for (let left = most; left > 0 && more === 1; left -= MAX_AT_ONCE) {
      const args = [now, removeBefore, emptyBefore, maxBytes, Math.min(left, MAX_AT_ONCE)];
      const step = await this.write<[number, number, number]>("store.prune", args);
      [removed, emptied, more] = [removed + step[0], emptied + step[1], step[2]];
    }
    return { removed, emptied, more: more === 1 };
  }

  async backlog(): Promise<Backlog> {
    return this.read("store.backlog", null);
  }

  get commits(): CommitMeasurements {
    return this.#database.commits;
  }

  protected get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    await this.#digests.stop();
    // Writes are carried out in order: when this one is answered, all are.
    await this.write("store.barrier", null).catch(() => undefined);
    if (this.#ownsDatabase) await this.#database.close();
  }

  /** Reads what a delivery has, at one point in time; `undefined` for a text that is no id. */
  async #find<Result>(id: string, query: (key: DeliveryKey) => Result): Promise<Result | undefined> {
    this.assertOpen();
    const key = parseDeliveryId(id);
    return key === undefined ? undefined : this.#snapshot(() => query(key));
  }

  #snapshot<Result>(query: () => Result): Result {
    return reading(() => this.#inSnapshot(query));
  }

  async #change(operation: string, runId: string, values: readonly (string | number | null)[]): Promise<void> {
    this.assertOpen();
    const key = runKey(runId);
    this.#fresh.forget(key);
    const failed = await this.write<FailedRunIndex>(operation, [key.run, key.tag, ...values]);
    if (failed !== undefined) throw notFound(runId);
  }
}

function runKey(id: string): RunKey {
  const key = parseRunId(id);
  if (key === undefined) throw notFound(id);
  return key;
}

/** Opens a store in a file of its own in the host's state directory; closing it closes the file. */
export async function openSqliteStore(host: Pick<GatewayHost, "paths" | "logger">): Promise<DeliveryStore> {
  const database = await SqliteDatabase.open({
    file: join(host.paths.stateDir, "reveille-deliveries.sqlite"),
    modules: [sqliteStoreModule],
    logger: host.logger,
  });
  return SqliteDeliveryStore.open(database, { ownsDatabase: true });
}
