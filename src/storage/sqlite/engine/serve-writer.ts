import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { WriteBatch } from "./group-commit.ts";
import type { SqliteModule } from "./module.ts";
import { isEnvironmental } from "./errors.ts";
import { Writer } from "./writer.ts";
import type { WriterReply, WriterRequest, WriterStart } from "./writer-protocol.ts";

/** Writes of one commit; beyond, the first of them would wait too long for the last. */
const MAX_WRITES_PER_COMMIT = 512;

/**
 * Serves writes that come over a port until it is told to close.
 *
 * Group commit without a timer: what has gathered on the port while the last commit was on its way
 * to the disk goes into the next one, so a single write waits for nobody and a crowd shares.
 */
export async function serveWriter(port: MessagePort, start: WriterStart): Promise<void> {
  const reply = (message: WriterReply) => port.postMessage(message);
  let writer: Writer;
  try {
    writer = await Writer.open(start.file, await Promise.all(start.modules.map(importSqliteModule)));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    reply({ kind: "refused", message, environmental: isEnvironmental(error) });
    port.close();
    return;
  }

  const commit = (batch: WriteBatch) => {
    const outcome = writer.commit(batch);
    reply({ kind: "committed", count: batch.operations.length, ...outcome, logBytes: writer.logBytes() });
  };
  port.on("message", (first: WriterRequest) => {
    const operations: string[] = [];
    const args: unknown[] = [];
    let request: WriterRequest | undefined = first;
    while (request !== undefined && typeof request !== "string") {
      operations.push(...request.operations);
      args.push(...request.args);
      if (operations.length >= MAX_WRITES_PER_COMMIT) break;
      request = nextRequest(port);
    }
    for (let from = 0; from < operations.length; from += MAX_WRITES_PER_COMMIT) {
      const to = from + MAX_WRITES_PER_COMMIT;
      commit({ operations: operations.slice(from, to), args: args.slice(from, to) });
    }
    if (request === "finish-checkpoint" || request === "restart-log") {
      writer.finishCheckpoint({ wait: request === "restart-log" });
      reply({ kind: "checkpointed" });
    }
    if (request === "close") {
      writer.close();
      port.close();
    }
  });
  reply({ kind: "ready" });
}

function nextRequest(port: MessagePort): WriterRequest | undefined {
  return receiveMessageOnPort(port)?.message as WriterRequest | undefined;
}

async function importSqliteModule(url: string): Promise<SqliteModule> {
  const exported = (await import(url)) as { sqliteModule?: SqliteModule };
  if (exported.sqliteModule === undefined) throw new Error(`${url} does not export sqliteModule.`);
  return exported.sqliteModule;
}
