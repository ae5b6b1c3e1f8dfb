import type { DatabaseSync } from "node:sqlite";
import type { StoredWait } from "../wait-store.ts";
import { rowQuery } from "./engine/row-query.ts";

/** Prepares reading every wait there is; their number is bounded. */
export function waitReader(reader: DatabaseSync): () => StoredWait[] {
  const all = rowQuery(
    reader,
    { id: "text", session: "text", version: "integer", content: "text" },
    "SELECT id, session, version, content FROM waits ORDER BY id",
  );
  return () => all.all().map(({ id, session, version, content }) => ({ id, session, version, content }));
}
