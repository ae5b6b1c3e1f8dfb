import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { AgentSpec } from "../src/core/run.ts";
import { SqliteDatabase } from "../src/storage/sqlite/engine/database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../src/storage/sqlite/delivery-store.ts";

const BATCH = 2_000;
/** Sessions of those that wait. */
const LANES = 500;

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
    message: "stored",
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
        runs: [{ lane: sessionKey, spec: { ...spec, sessionKey } }],
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
  await database.close();
}
