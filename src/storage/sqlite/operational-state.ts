import type { SqliteDatabase } from "./engine/database.ts";
import { StoreError } from "../delivery-store.ts";
import { OperationalStateReader } from "./operational-reader.ts";
import type { OperationalState, Pause, Scope, Usage } from "../operational-state.ts";
import { asStoreError, reading } from "./store-errors.ts";

/** What a store on SQLite remembers of the gateway's own operation; the part of the store that stands alone. */
export abstract class SqliteOperationalState implements OperationalState {
  readonly #database: SqliteDatabase;
  readonly #operational: OperationalStateReader;

  protected constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#operational = new OperationalStateReader(database.reader);
  }

  async pauses(): Promise<readonly Pause[]> {
    this.assertOpen();
    return reading(() => this.#operational.pauses());
  }

  async pause({ scope, reason, since }: Pause): Promise<boolean> {
    this.assertOpen();
    return this.write("store.pause", [scope, reason, since]);
  }

  async resume(scope: Scope): Promise<boolean> {
    this.assertOpen();
    return this.write("store.resume", [scope]);
  }

  async addUsage(usage: readonly Usage[]): Promise<void> {
    this.assertOpen();
    await this.write(
      "store.addUsage",
      usage.flatMap(({ scope, minute, runs }) => [scope, minute, runs]),
    );
  }

  async usageSince(minute: number): Promise<readonly Usage[]> {
    this.assertOpen();
    return reading(() => this.#operational.usageSince(minute));
  }

  async openOutage({ subject, since }: { readonly subject: string; readonly since: number }): Promise<boolean> {
    this.assertOpen();
    return this.write("store.openOutage", [subject, since]);
  }

  async closeOutage(subject: string): Promise<boolean> {
    this.assertOpen();
    return this.write("store.closeOutage", [subject]);
  }

  async outages(): Promise<readonly string[]> {
    this.assertOpen();
    return reading(() => this.#operational.outages());
  }

  /** Whether no more calls are taken. */
  protected abstract get isClosing(): boolean;

  protected assertOpen(): void {
    if (this.isClosing) throw new StoreError("CLOSED", "The delivery store is closed.");
  }

  protected async write<Result>(operation: string, args: unknown): Promise<Result> {
    try {
      return await this.#database.write<Result>(operation, args);
    } catch (error) {
      throw asStoreError(error);
    }
  }
}
