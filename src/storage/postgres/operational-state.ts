import { StoreError } from "../delivery-store.ts";
import type { OperationalState, Pause, Scope, Usage } from "../operational-state.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import type { StoredWait, WaitAddition, WaitBounds, WaitStore } from "../wait-store.ts";
import type { Session } from "./engine/statement.ts";
import type { Writer } from "./engine/writer.ts";
import * as operational from "./operations/operational-state.ts";
import { addWait, removeWait, waitsSince } from "./operations/waits.ts";
import { readOutages, readPauses, readUsage } from "./readers/operational-state.ts";
import { readingAtOnce } from "./readers/read-session.ts";

/** The operational state and the waits in PostgreSQL, independent of its deliveries. */
export abstract class PostgresOperationalState implements OperationalState, WaitStore {
  readonly database: PostgresDatabase;
  protected readonly writer: Writer;

  protected constructor(database: PostgresDatabase) {
    this.database = database;
    this.writer = database.writer;
  }

  async pauses(): Promise<readonly Pause[]> {
    this.assertOpen();
    return this.read((session) => session.rows(readPauses));
  }

  async pause(pause: Pause): Promise<boolean> {
    this.assertOpen();
    const outcome = await this.writer.write(operational.pause, pause);
    if (outcome !== "full") return outcome;
    const reason = `${operational.MAX_PAUSES} scopes are paused already; resume some that are not in use any more.`;
    throw new StoreError("UNAVAILABLE", reason);
  }

  async resume(scope: Scope): Promise<boolean> {
    this.assertOpen();
    return this.writer.write(operational.resume, scope);
  }

  async addUsage(usage: readonly Usage[]): Promise<void> {
    this.assertOpen();
    await this.writer.write(operational.addUsage, usage);
  }

  async usageSince(minute: number): Promise<readonly Usage[]> {
    this.assertOpen();
    return this.read((session) => session.rows(readUsage, minute));
  }

  async openOutage(outage: { readonly subject: string; readonly since: number }): Promise<boolean> {
    this.assertOpen();
    return this.writer.write(operational.openOutage, outage);
  }

  async closeOutage(subject: string): Promise<boolean> {
    this.assertOpen();
    return this.writer.write(operational.closeOutage, subject);
  }

  async outages(): Promise<readonly string[]> {
    this.assertOpen();
    return (await this.read((session) => session.rows(readOutages))).map(({ subject }) => subject);
  }

  async waits(since: number): Promise<{ readonly waits: readonly StoredWait[]; readonly mark: number }> {
    this.assertOpen();
    return readingAtOnce(this.database.pool, (session) => waitsSince(session, since));
  }

  async addWait(wait: StoredWait, bounds: WaitBounds): Promise<WaitAddition> {
    this.assertOpen();
    return this.writer.write(addWait, { wait, bounds });
  }

  async removeWait(id: string): Promise<boolean> {
    this.assertOpen();
    return this.writer.write(removeWait, id);
  }

  /** True when no more calls are taken. */
  protected abstract get isClosing(): boolean;

  protected assertOpen(): void {
    if (this.isClosing) throw new StoreError("CLOSED", "The delivery store is closed.");
  }

  protected read<Result>(read: (session: Session) => Promise<Result>): Promise<Result> {
    return this.database.read(read);
  }
}
