import type { DatabaseSync } from "node:sqlite";

/**
 * Prepares reading with several statements at one point in time: without that a delivery may be removed
 * between its row and its runs. What is read must be read before the query returns.
 */
export function snapshotReader(reader: DatabaseSync): <Result>(query: () => Result) => Result {
  const begin = reader.prepare("BEGIN");
  const end = reader.prepare("COMMIT");
  return (query) => {
    begin.run();
    try {
      return query();
    } finally {
      end.run();
    }
  };
}
