/** How far each subscription to events has come, in the state of the gateway: no secret and no token. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import Type, { type Static } from "typebox";
import { Check } from "typebox/schema";
import type { Logger } from "../../../../core/host.ts";
import type { StateStore } from "../../state/state-store.ts";

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

export interface EventRecordsOptions {
  readonly state: Pick<StateStore, "read" | "write">;
  readonly stateDir: string;
  readonly logger: Logger;
}

/** They are read once, and kept as they change: the latest of each is written, one after the other. */
export class EventRecords {
  readonly #options: EventRecordsOptions;
  readonly #folder: string;
  readonly #records = new Map<string, EventRecord>();
  /** What is to be written by name; `undefined`: it is to go. */
  readonly #unwritten = new Map<string, EventRecord | undefined>();
  #writing: Promise<void> | undefined;

  constructor(options: EventRecordsOptions) {
    this.#options = options;
    this.#folder = join(options.stateDir, "subscriptions", "events");
  }

  /** What a gateway before this one has left counts as well. Rejects when the state cannot be read. */
  async load(): Promise<void> {
    const texts = await this.#options.state.read("subscriptions", MAX_RECORDS);
    this.#records.clear();
    for (const record of texts.flatMap(parse)) this.#records.set(record.name, record);
    await this.#takeFiles();
  }

  get names(): readonly string[] {
    return [...this.#records.keys()];
  }

  get(name: string): EventRecord | undefined {
    return this.#records.get(name);
  }

  save(record: EventRecord): void {
    this.#records.set(record.name, record);
    this.#change(record.name, record);
  }

  delete(name: string): void {
    this.#records.delete(name);
    this.#change(name, undefined);
  }

  /** Resolves when everything is written, as far as it can be. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  #change(name: string, record: EventRecord | undefined): void {
    this.#unwritten.set(name, record);
    this.#writing ??= this.#write();
  }

  /** Never rejects: with an older cursor events come again, and are recognized. */
  async #write(): Promise<void> {
    const { state, logger } = this.#options;
    for (const [name, record] of this.#unwritten) {
      this.#unwritten.delete(name);
      try {
        await (record === undefined
          ? state.write("removeSubscription", name)
          : state.write("saveSubscription", { name, record: JSON.stringify(record) }));
      } catch (error) {
        logger.warn({ err: error, subscription: name }, "the cursor of a subscription could not be kept");
      }
    }
    this.#writing = undefined;
  }

  /** Earlier versions kept them in files of the state folder. */
  async #takeFiles(): Promise<void> {
    if (!existsSync(this.#folder)) return;
    const files = readdirSync(this.#folder).filter((name) => name.endsWith(".json"));
    for (const file of files.slice(0, MAX_RECORDS)) {
      const path = join(this.#folder, file);
      for (const record of parseFile(path)) {
        if (this.#records.has(record.name)) continue;
        const { name } = record;
        await this.#options.state.write("saveSubscription", { name, record: JSON.stringify(record) });
        this.#records.set(name, record);
      }
      rmSync(path, { force: true });
    }
  }
}

/** A file that cannot be read is none: its subscription begins from now on. */
function parseFile(path: string): readonly EventRecord[] {
  try {
    return statSync(path).size > MAX_BYTES ? [] : parse(readFileSync(path, "utf8"));
  } catch {
    return [];
  }
}

function parse(written: string): readonly EventRecord[] {
  try {
    const content: unknown = JSON.parse(written);
    return isRecord(content) ? [content] : [];
  } catch {
    return [];
  }
}

function isRecord(content: unknown): content is EventRecord {
  return Check(RecordSchema, content);
}
