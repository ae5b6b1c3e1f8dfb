import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import type { DatabaseSync } from "node:sqlite";
import type { MessagePort } from "node:worker_threads";
import { reasonOf } from "../../../core/reason-of.ts";
import { LogRestart } from "./log-restart.ts";
import { importSqliteModule, type SqliteModule } from "./module.ts";
import { openReadConnection } from "./open-connection.ts";
import type { ReaderReply, ReaderRequest, ReaderStart } from "./reader-thread.ts";

/** Below that of the threads that accept calls: on one core, these go first. */
const PRIORITY = 10;

type Read = (args: unknown) => unknown;

/** Answers reads, one after the other, until a message closes the port. */
export async function serveReader(port: MessagePort, { file, modules, logRestart }: ReaderStart): Promise<void> {
  lowerPriority();
  const imported = await Promise.all(modules.map(importSqliteModule));
  const database = openReadConnection(file);
  const restart = new LogRestart(logRestart);
  const letPass = () => {
    restart.letPass();
  };
  const reads = readsOf(database, imported, letPass);
  port.on("message", (request: ReaderRequest) => {
    if (request === "close") {
      database.close();
      port.close();
      return;
    }
    letPass();
    port.postMessage(answer(reads, request));
  });
}

function readsOf(
  database: DatabaseSync,
  modules: readonly SqliteModule[],
  letPass: () => void,
): ReadonlyMap<string, Read> {
  const reads = new Map<string, Read>();
  for (const module of modules) {
    for (const [name, read] of Object.entries(module.reads?.(database, letPass) ?? {})) {
      reads.set(`${module.name}.${name}`, read as Read);
    }
  }
  return reads;
}

function answer(reads: ReadonlyMap<string, Read>, { id, read, args }: Exclude<ReaderRequest, "close">): ReaderReply {
  try {
    const known = reads.get(read);
    if (known === undefined) throw new Error(`No module of this database has the read ${read}.`);
    return { id, result: known(args) };
  } catch (error) {
    return { id, failure: reasonOf(error) };
  }
}

/** Of this thread alone, where the system has such a thing. */
function lowerPriority(): void {
  try {
    setPriority(Number(readlinkSync("/proc/thread-self").split("/").at(-1)), PRIORITY);
  } catch {}
}
