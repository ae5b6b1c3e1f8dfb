import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { AgentSpec } from "../src/core/run.ts";
import { SqliteDatabase } from "../src/storage/sqlite/engine/database.ts";
import type { AddedDigests } from "../src/storage/sqlite/operations/digests.ts";
import type { DigestStep } from "../src/storage/sqlite/readers/digest-builder.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../src/storage/sqlite/delivery-store.ts";

const BATCH = 2_000;
/** Sessions of those that wait. */
const LANES = 500;
const VERBS = ["created", "paid", "shipped", "refunded", "disputed", "cancelled by the customer", "held for review"];
const THINGS = ["books", "lamps", "winter coats", "coffee grinders", "bicycles", "garden chairs", "violin strings"];

export interface Stored {
  readonly settled: number;
  readonly queued?: number;
}

/** Stores deliveries that have ended, as a gateway in use for months holds them, and others that wait. */
export async function prefill(stateDir: string, { settled, queued = 0 }: Stored): Promise<void> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const database = await SqliteDatabase.open({
    file: join(stateDir, "reveille.sqlite"),
    modules: [sqliteStoreModule],
  });
  const store = SqliteDeliveryStore.open(database);
  const body = Buffer.from(JSON.stringify({ text: "x".repeat(1_000) }));
  const spec: AgentSpec = {
    kind: "agent",
    message: "",
    name: "Stored",
    agentId: "main",
    sessionKey: "agent:main:hook:stored",
    wakeMode: "now",
    timeoutMs: 600_000,
    interrupted: "rerun",
    source: "Webhook",
    unsafe: false,
  };
  const acceptMany = async (count: number, from: number): Promise<string[]> => {
    const batch = Array.from({ length: count }, (_, index) => {
      const sessionKey = `agent:main:hook:stored-${(from + index) % LANES}`;
      return store.accept({
        receivedAt: Date.now(),
        route: `sender-${(from + index) % 50}`,
        mappingId: null,
        name: "Stored",
        headers: { "content-type": "application/json" },
        query: {},
        body,
        runs: [{ lane: sessionKey, spec: { ...spec, sessionKey, message: messageOf(from + index) } }],
      });
    });
    const outcomes = await Promise.all(batch);
    return outcomes.flatMap((outcome) => ("runIds" in outcome ? outcome.runIds : []));
  };
  for (let stored = 0; stored < settled; stored += BATCH) {
    const runIds = await acceptMany(Math.min(BATCH, settled - stored), stored);
    await store.settleAll(runIds, { state: "done", reason: null });
  }
  for (let stored = 0; stored < queued; stored += BATCH) await acceptMany(Math.min(BATCH, queued - stored), stored);
  await store.close();
  await addDigests(database);
  await database.close();
}

/** Each its own, since the digest of a block in which all say the same is smaller than any in use. */
function messageOf(index: number): string {
  const random = createHash("sha256").update(String(index)).digest();
  const [verb, thing] = [VERBS[random[0]! % VERBS.length]!, THINGS[random[1]! % THINGS.length]!];
  return `Order ${random.readUInt32LE(2)} ${verb}: ${1 + random[6]!} ${thing} for customer ${random.toString("hex", 7, 11)}.`;
}

/** A gateway makes them behind the calls, more slowly than these deliveries are stored. */
async function addDigests(database: SqliteDatabase): Promise<void> {
  const { writer } = await database.write<AddedDigests>("store.addDigests", { digests: [] });
  for (let from = 0, isLast = false; !isLast;) {
    const step = await database.read<DigestStep>("store.missingDigests", from);
    await database.write("store.addDigests", { digests: step.digests, writer });
    ({ next: from, isLast } = step);
  }
}
