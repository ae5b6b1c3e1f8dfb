/** The subscriptions of this gateway, each in a file of the state folder: `reveille add` writes it, the gateway renews it. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import Type, { type Static } from "typebox";
import { Check } from "typebox/schema";
import { writePrivateFileSync } from "../../../auth/keys/private-file.ts";

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

const RecordSchema = Type.Object({
  /** The name in the configuration. */
  sender: text(200),
  preset: text(200),
  api: text(2_048),
  tokenUrl: text(2_048),
  /** The file, absolute. */
  credentials: text(4_096),
  /** Where the secret is that the sender gets; `null`: it gets none. */
  secret: Type.Union([Type.Null(), Type.Object({ file: text(4_096) }), Type.Object({ env: text(200) })]),
  url: text(2_048),
  resource: text(1_000),
  events: Type.Array(text(200), { maxItems: 50 }),
  id: text(200),
  resourceId: Type.Optional(text(200)),
  /** Milliseconds since the epoch. */
  begunAt: Type.Number(),
  expiresAt: Type.Number(),
});

/** No secret and no token: where they are. */
export type SubscriptionRecord = Static<typeof RecordSchema>;

/** Further ones are neither made nor renewed. */
export const MAX_SUBSCRIPTIONS = 500;
const MAX_BYTES = 65_536;

export class SubscriptionRecords {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "subscriptions");
  }

  /** Files that are no records are left out. */
  all(): readonly SubscriptionRecord[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder).filter((name) => name.endsWith(".json"));
    return names
      .toSorted()
      .slice(0, MAX_SUBSCRIPTIONS)
      .flatMap((name) => read(join(this.#folder, name)));
  }

  has(record: SubscriptionRecord): boolean {
    return existsSync(this.fileOf(record));
  }

  /** In the place of the record of the same sender and resource. */
  save(record: SubscriptionRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writePrivateFileSync(this.fileOf(record), `${JSON.stringify(record, undefined, 2)}\n`);
  }

  delete(record: SubscriptionRecord): void {
    rmSync(this.fileOf(record), { force: true });
  }

  /** Where it is kept. */
  fileOf({ sender, resource }: SubscriptionRecord): string {
    const name = createHash("sha256")
      .update(JSON.stringify([sender, resource]))
      .digest("hex")
      .slice(0, 24);
    return join(this.#folder, `${name}.json`);
  }
}

function read(file: string): readonly SubscriptionRecord[] {
  try {
    const content: unknown = statSync(file).size > MAX_BYTES ? undefined : JSON.parse(readFileSync(file, "utf8"));
    return isRecord(content) ? [content] : [];
  } catch {
    return [];
  }
}

function isRecord(content: unknown): content is SubscriptionRecord {
  return Check(RecordSchema, content);
}
