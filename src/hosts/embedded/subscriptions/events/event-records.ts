/** How far each subscription to events has come, in a file of the state folder: no secret and no token. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Type, { type Static } from "typebox";
import { Check } from "typebox/schema";

const text = (maxLength: number) => Type.String({ maxLength });

const RecordSchema = Type.Object({
  /** The name in the configuration. */
  name: text(200),
  /** What it is for: with another server, event or argument it starts over. */
  server: text(2_048),
  event: text(200),
  arguments: Type.Record(Type.String(), Type.Unknown()),
  /** The URL that the server calls; empty: it is polled. */
  callback: text(4_096),
  /** The server's name for it; empty: there is none. */
  id: text(1_024),
  cursor: Type.Union([Type.Null(), text(8_192)]),
});

export type EventRecord = Static<typeof RecordSchema>;

const MAX_RECORDS = 1_000;
const MAX_BYTES = 131_072;

export class EventRecords {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "subscriptions", "events");
  }

  /** Files that are no records are left out. */
  all(): readonly EventRecord[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder).filter((name) => name.endsWith(".json"));
    return names.slice(0, MAX_RECORDS).flatMap((name) => read(join(this.#folder, name)));
  }

  get(name: string): EventRecord | undefined {
    return read(this.fileOf(name))[0];
  }

  save(record: EventRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.fileOf(record.name);
    writeFileSync(`${file}.new`, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  delete(name: string): void {
    rmSync(this.fileOf(name), { force: true });
  }

  /** Where it is kept. */
  fileOf(name: string): string {
    return join(this.#folder, `${createHash("sha256").update(name).digest("hex").slice(0, 24)}.json`);
  }
}

function read(file: string): readonly EventRecord[] {
  try {
    const content: unknown = statSync(file).size > MAX_BYTES ? undefined : JSON.parse(readFileSync(file, "utf8"));
    return isRecord(content) ? [content] : [];
  } catch {
    return [];
  }
}

function isRecord(content: unknown): content is EventRecord {
  return Check(RecordSchema, content);
}
