import type { DeliveryDetail, DeliverySummary } from "../../core/delivery.ts";
import type { Logger } from "../../core/host.ts";
import type { CommitMeasurements } from "../../core/measurements.ts";
import { RUN_STEPS, type RunStep } from "../../core/run.ts";
import type { StatsPage, StatsQuery } from "../delivery-stats.ts";
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
import type { AcceptOutcome, NewDelivery } from "../new-delivery.ts";
import { codeOfReplyOutcome, codeOfSettled } from "../sqlite/codes.ts";
import { type DeliveryKey, newTag, parseDeliveryId, parseRunId, type RunKey } from "../sqlite/public-id.ts";
import { FreshRuns } from "../sqlite/readers/fresh-runs.ts";
import { PostgresDatabase } from "./engine/database.ts";
import { notFound } from "./engine/errors.ts";
import type { OwnerOptions } from "./engine/owner-connection.ts";
import type { Session } from "./engine/statement.ts";
import type { WriteOperation } from "./engine/write-group.ts";
import { newDeliveryRow } from "./operations/new-delivery-row.ts";
import { PostgresOperationalState } from "./operational-state.ts";
import { Succession } from "./succession.ts";
import { resolveDelivery } from "./operations/operational-state.ts";
import { remove } from "./operations/retention.ts";
import { PostgresRetention } from "./retention.ts";
import * as runs from "./operations/runs.ts";
import * as deliveries from "./readers/delivery.ts";
import { assertQuery, deliveryPage, statsPage } from "./readers/list.ts";
import { readingAtOnce } from "./readers/read-session.ts";
import { backlog, endOfRuns, openRunPage, storedRun } from "./readers/run.ts";

/** Deliveries that one call of `remove` takes. */
const MAX_REMOVED = 64;
export interface PostgresOptions {
  /** As `postgresql://user:password@host:5432/database`. */
  readonly url: string;
  readonly logger: Logger;
  /** True: it is opened also while another gateway uses the database, and leads when that one is gone. */
  readonly isBeside?: boolean;
  /** True: the database stays open when the store is closed, and whoever opened the store closes it. */
  readonly keepsDatabase?: boolean;
}

/**
 * The delivery store of a gateway in a PostgreSQL database. Writes go over one connection, where those that arrive
 * together share a commit; reads go over a few others. The gateway that carries out the runs holds the lock of the
 * database on the connection that writes.
 */
export class PostgresDeliveryStore extends PostgresOperationalState implements DeliveryStore {
  readonly #fresh = new FreshRuns();
  readonly #retention: PostgresRetention;
  readonly shared: Succession;
  readonly #keepsDatabase: boolean;
  #closing: Promise<void> | undefined;

  /** Rejects with the reason when the database cannot be used, its tables are missing or another gateway uses it alone. */
  static async open({ keepsDatabase = false, ...options }: PostgresOptions): Promise<PostgresDeliveryStore> {
    const opened: { store?: PostgresDeliveryStore } = {};
    const onArrival: OwnerOptions["onArrival"] = (payload) => opened.store?.shared.arrived(payload);
    const database = await PostgresDatabase.open({ ...options, onArrival });
    return (opened.store = new PostgresDeliveryStore(database, keepsDatabase));
  }

  private constructor(database: PostgresDatabase, keepsDatabase: boolean) {
    super(database);
    this.#keepsDatabase = keepsDatabase;
    this.shared = new Succession(database);
    this.#retention = new PostgresRetention(database);
  }

  async accept(delivery: NewDelivery): Promise<AcceptOutcome> {
    this.assertOpen();
    const row = newDeliveryRow(delivery, newTag());
    const { outcome, isLeft } = await this.shared.accept(row);
    if (outcome.kind !== "accepted" || isLeft) return isLeft ? { ...outcome, isLeft } : outcome;
    const { seq } = parseDeliveryId(outcome.deliveryId)!;
    if (outcome.dueAt === undefined && delivery.held === undefined) this.#fresh.add(seq, row.tag, delivery.runs);
    for (const id of outcome.superseded?.runIds ?? []) this.#fresh.forget(runKey(id));
    return outcome;
  }

  /** Those that are open at the time of the call; runs accepted later are not among them. */
  openRuns(): AsyncIterable<OpenRun> {
    const read = async (): Promise<number> => {
      await this.shared.forget();
      return this.read(endOfRuns);
    };
    const end = this.#closing === undefined ? read() : undefined;
    end?.catch(() => {});
    return this.#openRunsBefore(end);
  }

  async loadRun(runId: string): Promise<StoredRun> {
    this.assertOpen();
    const key = runKey(runId);
    const run = this.#fresh.take(key) ?? (await this.read((session) => storedRun(session, key)));
    if (run === undefined) throw notFound(runId);
    return run;
  }

  async beginAttempt(runId: string, attempt: { number: number; startedAt: number }): Promise<void> {
    const values = [attempt.number, attempt.startedAt];
    await this.database.timely(() => this.#change(runs.beginAttempt, runId, values));
  }

  endAttempt(runId: string, end: AttemptEnd): Promise<void> {
    const usage = end.usage === undefined ? null : JSON.stringify(end.usage);
    const activity = end.activity === undefined || end.activity.length === 0 ? null : JSON.stringify(end.activity);
    return this.#change(runs.endAttempt, runId, [end.endedAt, end.status, end.error, end.reply, usage, activity]);
  }

  recordStep(runId: string, step: RunStep, { at, outcome }: StepDone = {}): Promise<void> {
    const code = outcome === undefined ? null : codeOfReplyOutcome(outcome);
    return this.#change(runs.recordStep, runId, [RUN_STEPS.indexOf(step), code, at ?? null]);
  }

  postpone(runId: string, until: { dueAt: number; reason: string }): Promise<void> {
    return this.#change(this.shared.leaves ? runs.postponeAndLeave : runs.postpone, runId, [until.dueAt, until.reason]);
  }

  stopCoalescing(runId: string): Promise<void> {
    return this.#change(runs.stopCoalescing, runId, []);
  }

  hold(runId: string, reason: string): Promise<void> {
    return this.#change(runs.hold, runId, [reason]);
  }

  settle(runId: string, settled: Settled): Promise<void> {
    return this.settleAll([runId], settled);
  }

  settleAll(runIds: readonly string[], settled: Settled): Promise<void> {
    return awaitedLater(this.#settle(runIds, settled));
  }

  async #settle(runIds: readonly string[], settled: Settled): Promise<void> {
    this.assertOpen();
    const keys = runIds.map(runKey);
    for (const key of keys) this.#fresh.forget(key);
    const end = { keys, state: codeOfSettled(settled.state), reason: settled.reason, at: settled.at ?? null };
    const failed = await this.writer.write(this.shared.leaves ? runs.settleAndLeave : runs.settle, end);
    if (failed !== undefined) throw notFound(runIds[failed]!);
  }

  async list(query: DeliveryQuery): Promise<DeliveryPage> {
    this.assertOpen();
    assertQuery(query);
    return this.#readAtOnce((session) => deliveryPage(session, query));
  }

  async stats(query: StatsQuery): Promise<StatsPage> {
    this.assertOpen();
    return this.#readAtOnce((session) => statsPage(session, query));
  }

  async get(id: string): Promise<DeliveryDetail | undefined> {
    return this.#find(id, deliveries.delivery);
  }

  async body(id: string): Promise<Uint8Array | undefined> {
    return this.#find(id, deliveries.body);
  }

  async replayable(id: string): Promise<Replayable | undefined> {
    return this.#find(id, deliveries.replayable);
  }

  async replaysOf(id: string): Promise<readonly Pick<DeliverySummary, "id" | "state">[]> {
    return (await this.#find(id, deliveries.replaysOf)) ?? [];
  }

  async duplicatesOf(id: string): Promise<readonly Pick<DeliverySummary, "id" | "receivedAt">[]> {
    return (await this.#find(id, deliveries.duplicatesOf)) ?? [];
  }

  async stateFor(id: string, credentialId: string): Promise<DeliveryState | undefined> {
    return this.#find(id, (session, key) => deliveries.stateFor(session, key, credentialId));
  }

  async resolve(id: string, { at, note }: { at: number; note: string | null }): Promise<boolean> {
    this.assertOpen();
    const key = parseDeliveryId(id);
    const isResolved = key && (await this.writer.write(resolveDelivery, { key, at, note }));
    if (isResolved === undefined) throw notFound(id);
    return isResolved;
  }

  /** Throws a RangeError for more than 64. */
  async remove(deliveryIds: readonly string[], now: number): Promise<RemoveOutcome> {
    this.assertOpen();
    if (deliveryIds.length > MAX_REMOVED) throw new RangeError(`At most ${MAX_REMOVED} deliveries go at a time.`);
    const keys = deliveryIds.map(parseDeliveryId).filter((key) => key !== undefined);
    const outcome = await this.writer.write(remove, { keys, now });
    return { ...outcome, kept: outcome.kept + deliveryIds.length - keys.length };
  }

  async prune(limits: PruneLimits): Promise<PruneOutcome> {
    this.assertOpen();
    return this.#retention.prune(limits);
  }

  async backlog(): Promise<Backlog> {
    this.assertOpen();
    return this.read(backlog);
  }

  get commits(): CommitMeasurements {
    return this.writer.commits;
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    this.shared.stop();
    if (!this.#keepsDatabase) await this.database.close();
  }

  protected get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  #readAtOnce<Result>(read: (session: Session) => Promise<Result>): Promise<Result> {
    return readingAtOnce(this.database.pool, read);
  }

  /** Reads what a delivery has, at one point in time; `undefined` for a text that is no id. */
  async #find<Result>(
    id: string,
    read: (session: Session, key: DeliveryKey) => Promise<Result>,
  ): Promise<Result | undefined> {
    this.assertOpen();
    const key = parseDeliveryId(id);
    return key === undefined ? undefined : this.#readAtOnce((session) => read(session, key));
  }

  async *#openRunsBefore(before: Promise<number> | undefined): AsyncGenerator<OpenRun> {
    this.assertOpen();
    const end = await before!;
    for (let after = 0; ;) {
      this.assertOpen();
      const from = after;
      const page = await this.read((session) => openRunPage(session, { after: from, end }));
      if (page === undefined) return;
      yield* page.runs;
      after = page.last;
    }
  }

  #change(
    operation: WriteOperation<runs.RunChange, boolean>,
    runId: string,
    values: runs.RunChange["values"],
  ): Promise<void> {
    const change = async (): Promise<void> => {
      this.assertOpen();
      const key = runKey(runId);
      this.#fresh.forget(key);
      if (!(await this.writer.write(operation, { key, values }))) throw notFound(runId);
    };
    return awaitedLater(change());
  }
}

/** Writes that share a commit fail together, also those that their callers await one after the other. */
function awaitedLater<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}

function runKey(id: string): RunKey {
  const key = parseRunId(id);
  if (key === undefined) throw notFound(id);
  return key;
}
