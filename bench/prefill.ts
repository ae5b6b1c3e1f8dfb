import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { AgentSpec } from "../src/delivery.ts";
import { SqliteDatabase } from "../src/sqlite/sqlite-database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../src/store/sqlite-delivery-store.ts";

const BATCH = 2_000;

/** Stores deliveries that have ended, as a gateway in use for months holds them. */
export async function prefill(stateDir: string, count: number): Promise<void> {
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
  for (let stored = 0; stored < count; stored += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - stored) }, (_, index) =>
      store.accept({
        receivedAt: Date.now(),
        route: `sender-${(stored + index) % 50}`,
        mappingId: null,
        name: "Stored",
        headers: { "content-type": "application/json" },
        query: {},
        body,
        runs: [{ lane: spec.sessionKey, spec }],
      }),
    );
    const outcomes = await Promise.all(batch);
    await store.settleAll(
      outcomes.flatMap((outcome) => ("runIds" in outcome ? outcome.runIds : [])),
      { state: "done", reason: null },
    );
  }
  await store.close();
  await database.close();
}
