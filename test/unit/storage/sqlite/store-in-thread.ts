/** The store's tables and operations on a connection of the test's own thread. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { WriteBatch } from "../../../../src/storage/sqlite/engine/group-commit.ts";
import { openReadConnection } from "../../../../src/storage/sqlite/engine/open-connection.ts";
import { Writer } from "../../../../src/storage/sqlite/engine/writer.ts";
import { acceptRow } from "../../../../src/storage/sqlite/operations/accept-row.ts";
import type { NewDelivery } from "../../../../src/storage/new-delivery.ts";
import { sqliteModule } from "../../../../src/storage/sqlite/store-module.ts";
import { newDelivery } from "../../../conformance/store/new-delivery.ts";
import { temporaryFolder } from "./engine/temporary-folder.ts";

export const TAG = "0123456789abcdef";

export async function openStoreTables() {
  const file = join(temporaryFolder(), "store.sqlite");
  let writer = await Writer.open(file, [sqliteModule]);
  const reader = openReadConnection(file);
  onTestFinished(() => {
    reader.close();
    writer.close();
  });
  let seq = 0;
  const commit = (batch: WriteBatch): unknown => {
    const { failures, results } = writer.commit(batch);
    if (failures.length > 0) throw new Error(failures[0]!.message);
    return results?.[0];
  };
  return {
    file,
    reader,
    /** Goes on with another writer, as after the death of its thread. */
    renewWriter: async (): Promise<void> => {
      writer.close();
      writer = await Writer.open(file, [sqliteModule]);
    },
    /** Carries out operations in one commit, and gives each outcome. */
    commit: (operations: readonly (readonly [operation: string, args: unknown])[]) =>
      writer.commit({
        operations: operations.map(([operation]) => `store.${operation}`),
        args: operations.map(([, args]) => args),
      }),
    /** Carries out one operation and gives what it answered. */
    run: (operation: string, args: unknown): unknown => commit({ operations: [`store.${operation}`], args: [args] }),
    /** Accepts many in one commit; returns the seq of the last. */
    accept: (count: number, changes: (seq: number) => Partial<NewDelivery> = () => ({})): number => {
      const args: unknown[] = [];
      for (let index = 0; index < count; index++) {
        seq++;
        args.push(acceptRow(seq, TAG, newDelivery(changes(seq))));
      }
      commit({ operations: args.map(() => "store.accept"), args });
      return seq;
    },
    /** Settles runs, given by the seq of a delivery with one run. */
    settle: (seqs: readonly number[], state: number): void => {
      commit({
        operations: ["store.settle"],
        args: [[state, null, null, ...seqs.flatMap((one) => [one * 4096, TAG])]],
      });
    },
  };
}
