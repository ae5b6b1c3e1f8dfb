/** Who has subscribed to events of this gateway: in one file of the state folder that only its owner can read. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import Type, { type Static } from "typebox";
import { Check } from "typebox/schema";
import { writePrivateFileSync } from "../../../auth/keys/private-file.ts";

const text = (maxLength: number) => Type.String({ maxLength });

const SubscriberSchema = Type.Object({
  /** Follows from what identifies it: whose it is, the URL, the event, the arguments. */
  id: text(100),
  principal: text(100),
  url: text(2_048),
  name: text(200),
  /** The name of an event of the sender that it is about; empty: all. */
  event: text(200),
  /** The latest first; one that was replaced signs as well until its time. */
  secrets: Type.Array(Type.Object({ value: text(200), until: Type.Union([Type.Null(), Type.Number()]) }), {
    minItems: 1,
    maxItems: 2,
  }),
  /** Everything before it is acknowledged or given up. */
  position: Type.Object({ id: text(200), at: Type.Number() }),
  /** Milliseconds since the epoch. */
  expiresAt: Type.Number(),
});

export type Subscriber = Static<typeof SubscriberSchema>;

const FileSchema = Type.Array(SubscriberSchema, { maxItems: 1_000 });
const MAX_BYTES = 4_194_304;
/** Subscriptions of all clients together. */
const MAX_SUBSCRIBERS = 100;

export class Subscribers {
  readonly #file: string;
  readonly #all: Map<string, Subscriber>;

  constructor(stateDir: string) {
    this.#file = join(stateDir, "subscriptions", "offered.private");
    this.#all = new Map(read(this.#file).map((each) => [each.id, each]));
  }

  get all(): readonly Subscriber[] {
    return [...this.#all.values()];
  }

  get isFull(): boolean {
    return this.#all.size >= MAX_SUBSCRIBERS;
  }

  get(id: string): Subscriber | undefined {
    return this.#all.get(id);
  }

  save(subscriber: Subscriber): void {
    this.#all.set(subscriber.id, subscriber);
    this.#write();
  }

  /** Moves one that is still there on; what else has changed of it meanwhile stays. */
  advance(id: string, position: Subscriber["position"]): void {
    const current = this.#all.get(id);
    if (current !== undefined) this.save({ ...current, position });
  }

  delete(id: string): boolean {
    const isThere = this.#all.delete(id);
    if (isThere) this.#write();
    return isThere;
  }

  #write(): void {
    mkdirSync(join(this.#file, ".."), { recursive: true, mode: 0o700 });
    writePrivateFileSync(this.#file, JSON.stringify(this.all));
  }
}

/** The same for the same wish of the same client, in every process. */
export function subscriberId(...key: readonly string[]): string {
  return `sub_${createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 32)}`;
}

function read(file: string): readonly Subscriber[] {
  try {
    const content: unknown = statSync(file).size > MAX_BYTES ? undefined : JSON.parse(readFileSync(file, "utf8"));
    return isFile(content) ? content : [];
  } catch {
    return [];
  }
}

function isFile(content: unknown): content is Subscriber[] {
  return Check(FileSchema, content);
}

/** For that long a secret that was replaced signs as well. */
const GRACE_MS = 3_600_000;

/** The latest first; the one before it signs for a while longer. */
export function secretsOf(known: Subscriber | undefined, secret: string, now: number): Subscriber["secrets"] {
  const latestSecret = { value: secret, until: null };
  const [before] = known?.secrets ?? [];
  if (before === undefined || known === undefined) return [latestSecret];
  if (before.value === secret) return known.secrets;
  return [latestSecret, { value: before.value, until: now + GRACE_MS }];
}
