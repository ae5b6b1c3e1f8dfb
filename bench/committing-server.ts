/**
 * The least that a durable accept takes with `node:http` and SQLite: the bare server, whose answer waits until a second
 * thread has committed the body. One row of one column for each call, one transaction for each turn of the event loop,
 * the same settings of SQLite as the gateway's; no token, no mapping, no run, no log.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isMainThread, parentPort, receiveMessageOnPort, Worker, workerData } from "node:worker_threads";

const answer = JSON.stringify({ ok: true });
const headers = { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(answer) };

/** The bodies of one turn, one after the other, and where each ends. */
interface Bodies {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ends: readonly number[];
}

if (isMainThread) serve(join(tmpdir(), `reveille-bench-${randomUUID()}.sqlite`));
else commitBodies(workerData as string);

function serve(file: string): void {
  // The benchmark sums up a writer's threads by their names.
  const writer = new Worker(new URL(import.meta.url), { name: "sqlite-writer", workerData: file });
  let bodies: Buffer[] = [];
  let waiting: (() => void)[] = [];
  const sent: (() => void)[][] = [];
  const send = (): void => {
    // One buffer that is handed over: a clone of each body costs 20 us.
    const bytes = new Uint8Array(bodies.reduce((sum, body) => sum + body.length, 0));
    const ends: number[] = [];
    let end = 0;
    for (const body of bodies) {
      bytes.set(body, end);
      end += body.length;
      ends.push(end);
    }
    writer.postMessage({ bytes, ends } satisfies Bodies, [bytes.buffer]);
    sent.push(waiting);
    bodies = [];
    waiting = [];
  };
  writer.on("message", (batches: number) => {
    for (const replies of sent.splice(0, batches)) for (const reply of replies) reply();
  });
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const body = Buffer.concat(chunks);
      JSON.parse(body.toString("utf8"));
      if (bodies.length === 0) setImmediate(send);
      bodies.push(body);
      waiting.push(() => {
        res.writeHead(202, headers);
        res.end(answer);
      });
    });
  });
  process.once("SIGTERM", () => {
    void writer.terminate().then(() => {
      for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
      process.exit();
    });
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    console.log(`listening on http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
  });
}

function commitBodies(file: string): void {
  const database = new DatabaseSync(file);
  database.exec(
    "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 10000",
  );
  database.exec("CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL)");
  const insert = database.prepare("INSERT INTO bodies (body) VALUES (?)");
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  parentPort?.on("message", (first: Bodies) => {
    let batches = 0;
    begin.run();
    for (let next: Bodies | undefined = first; next !== undefined; next = nextBodies()) {
      let start = 0;
      for (const end of next.ends) {
        insert.run(next.bytes.subarray(start, end));
        start = end;
      }
      batches++;
    }
    commit.run();
    parentPort?.postMessage(batches);
  });
}

function nextBodies(): Bodies | undefined {
  return parentPort === null ? undefined : (receiveMessageOnPort(parentPort)?.message as Bodies | undefined);
}
