import { reasonOf } from "../../../core/reason-of.ts";
import type { MessagePort } from "node:worker_threads";
import { openWriteConnection } from "./open-connection.ts";

export type CheckpointRequest = "checkpoint" | "close";

/** `message` says why nothing was copied, for instance that the disk is full. */
export type CheckpointReply = { readonly ok: true } | { readonly ok: false; readonly message: string };

/**
 * Copies the write-ahead log into the database file on each request, while others continue
 * writing: the copying and its fsync cost no request anything.
 */
export function serveCheckpoints(port: MessagePort, start: { readonly file: string }): void {
  const database = openWriteConnection(start.file);
  const copyLog = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  const checkpoint = (): CheckpointReply => {
    try {
      copyLog.get();
      return { ok: true };
    } catch (error) {
      return { ok: false, message: reasonOf(error) };
    }
  };
  port.on("message", (request: CheckpointRequest) => {
    if (request === "checkpoint") {
      port.postMessage(checkpoint());
      return;
    }
    database.close();
    port.close();
  });
}
