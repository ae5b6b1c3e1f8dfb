/**
 * What SQLite alone takes for a delivery of 1 KiB in several forms of rows: `node bench/row-forms.ts [deliveries in a commit]`.
 * The three rows are today's tables. Processor time of this process, which does nothing else, checkpoints included.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { AgentSpec } from "../src/core/run.ts";
import { openWriteConnection } from "../src/storage/sqlite/engine/open-connection.ts";
import { storeMigrations } from "../src/storage/sqlite/migrations.ts";
import { quoteBody } from "../src/storage/sqlite/quotation.ts";
import { shortSpec } from "../src/storage/sqlite/short-spec.ts";
import { storeSpec } from "../src/storage/sqlite/stored-spec.ts";
import { callBody } from "./call-body.ts";
import { median } from "./median.ts";

const DELIVERIES = 30_000;
const ROUNDS = 4;
const CHECKPOINT_EVERY = 8_192;
const perCommit = Number(process.argv[2] ?? 32);

const lane = "agent:main:hook:884d5dd6-bb88-47db-a1c0-7ef89534d977";
const tag = "9fd9d7b1e3e5f386";
const body = Buffer.from(callBody(1));
const headers = '{"host":"127.0.0.1:18789","content-type":"application/json","content-length":"1024"}';
const spec: AgentSpec = {
  kind: "agent",
  message: `Event push of ada: ${(JSON.parse(body.toString()) as { text: string }).text}`,
  name: "Sender 1",
  nameBy: "owner",
  agentId: "main",
  sessionKey: lane,
  wakeMode: "now",
  timeoutMs: 600_000,
  interrupted: "rerun",
  source: "Webhook",
  unsafe: false,
  delivery: { channel: "console", to: "owner" },
};
const { text, quotation } = quoteBody(spec.message, body);
const [whole, short] = [storeSpec(spec).json, shortSpec(spec, lane).json];

type Insert = (seq: number) => void;

/** The rows of a delivery that waits; `withRun` leaves out the run's, whose columns are then the delivery's. */
function rows(database: DatabaseSync, json: string, withRun: boolean): Insert {
  const columns = "seq, tag, received_at, route, mapping_id, name, credential, runs, bytes, answered";
  const own = withRun ? "" : ", waiting, lane, kind";
  const delivery = database.prepare(
    `INSERT INTO deliveries (${columns}${own})
    VALUES (?, '${tag}', 1795823492287, 'sender-1', 'mapping-1', 'Sender 1', '5ce91fff4a400758', 1, 2403, 202
    ${withRun ? "" : ", 1, ?, 1"})`,
  );
  const run = database.prepare("INSERT INTO runs (id, tag, lane, kind, state, steps) VALUES (?, ?, ?, 1, 4, 0)");
  const contents = database.prepare(
    "INSERT INTO contents (id, spec, text, quotation, headers, query, body) VALUES (?, ?, ?, ?, ?, '{}', ?)",
  );
  return (seq) => {
    if (withRun) {
      delivery.run(seq);
      run.run(seq * 4_096, tag, lane);
    } else {
      delivery.run(seq, lane);
    }
    contents.run(seq * 4_096, json, text, quotation, headers, body);
  };
}

function blob(database: DatabaseSync, table: string, content: Uint8Array): Insert {
  const insert = database.prepare(`INSERT INTO ${table} (id, content) VALUES (?, ?)`);
  return (seq) => {
    insert.run(seq, content);
  };
}

const forms: Readonly<Record<string, (database: DatabaseSync) => Insert>> = {
  "three rows, the whole spec": (database) => rows(database, whole, true),
  "three rows, a spec without what nearly all have": (database) => rows(database, short, true),
  "the run's row is made when it begins": (database) => rows(database, whole, false),
  "the same, with the short spec": (database) => rows(database, short, false),
  "one packed row, and an index of what waits": (database) =>
    blob(database, "packed", Buffer.concat([Buffer.alloc(400, short), body])),
  "the body alone": (database) => blob(database, "bodies", body),
};

/** Microseconds a delivery. */
function measure(prepare: (database: DatabaseSync) => Insert): number {
  const folder = mkdtempSync(join(tmpdir(), "reveille-bench-rows-"));
  const database = openWriteConnection(join(folder, "rows.sqlite"));
  for (const statement of Object.values(storeMigrations).flat()) database.exec(statement);
  for (const column of ["waiting INTEGER", "lane TEXT", "kind INTEGER"])
    database.exec(`ALTER TABLE deliveries ADD COLUMN ${column}`);
  database.exec(`CREATE INDEX deliveries_waiting ON deliveries (waiting, seq) WHERE waiting IS NOT NULL;
    CREATE TABLE packed (id INTEGER PRIMARY KEY, content BLOB, waiting INTEGER DEFAULT 1) STRICT;
    CREATE INDEX packed_waiting ON packed (waiting, id) WHERE waiting IS NOT NULL;
    CREATE TABLE bodies (id INTEGER PRIMARY KEY, content BLOB) STRICT`);
  const insert = prepare(database);
  const before = process.cpuUsage();
  for (let seq = 1; seq <= DELIVERIES;) {
    database.exec("BEGIN IMMEDIATE");
    for (const end = seq + perCommit; seq < end; seq++) insert(seq);
    database.exec("COMMIT");
    if (seq % CHECKPOINT_EVERY < perCommit) database.exec("PRAGMA wal_checkpoint(RESTART)");
  }
  const { user, system } = process.cpuUsage(before);
  database.close();
  rmSync(folder, { recursive: true });
  return (user + system) / DELIVERIES;
}

const results = new Map(Object.keys(forms).map((name): [string, number[]] => [name, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, form] of Object.entries(forms)) results.get(name)!.push(measure(form));
}
console.log(`| form, ${perCommit} in a commit | µs a delivery |\n|---|---|`);
for (const [name, micros] of results) console.log(`| ${name} | ${median(micros).toFixed(1)} |`);
