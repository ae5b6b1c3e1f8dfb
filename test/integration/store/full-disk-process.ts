/**
 * Fills a disk through a delivery store, makes room, and prints as one line of JSON what the store did.
 *
 * Arguments: a folder on the disk, how room is made (`remove-filler` or `raise-limit`), the bytes of the
 * file that takes space away first, the bytes of each body, and how often the log cannot be copied into the
 * file before room is made.
 */
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteDatabase } from "../../../src/storage/sqlite/engine/database.ts";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../src/storage/sqlite/delivery-store.ts";
import { newClaim, newDelivery } from "../../conformance/store/new-delivery.ts";
import type { FullDiskReport } from "./full-disk-report.ts";

const AT_ONCE = 16;
const AFTERWARDS = 200;

const [folder = "", makeRoomBy = "", fillerBytes = "", bodyBytes = "", failingCopies = "0"] = process.argv.slice(2);
const file = join(folder, "deliveries.sqlite");
const filler = join(folder, "filler");

let copyFailures = 0;
const logger = {
  info: () => undefined,
  warn: (_: object, message: string) => {
    if (message.includes("log could not be copied")) copyFailures++;
  },
};

async function open(): Promise<DeliveryStore> {
  const database = await SqliteDatabase.open({ file, modules: [sqliteStoreModule], logger });
  return SqliteDeliveryStore.open(database, { ownsDatabase: true });
}

/** Writes until there is no byte left; returns the refusal of a store on such a disk. */
async function openOnFullDisk(): Promise<string> {
  const rest = join(folder, "rest");
  try {
    for (let count = 0; ; count++) writeFileSync(rest, Buffer.alloc(4096), { flag: "a" });
  } catch {
    const refusal = await open().then(
      () => "opened",
      (error: unknown) => codeOf(error),
    );
    rmSync(rest);
    return refusal;
  }
}

function makeRoom(): void {
  if (makeRoomBy === "remove-filler") rmSync(filler);
  else spawnSync("prlimit", ["--pid", `${process.pid}`, "--fsize=unlimited"], { stdio: "inherit" });
}

/** One round of simultaneous calls: ids of the accepted, codes of the refused. */
async function acceptRound(store: DeliveryStore): Promise<{ ids: string[]; codes: string[] }> {
  const calls = Array.from({ length: AT_ONCE }, (_, index) => {
    const body = Buffer.alloc(Number(bodyBytes), index);
    return store.accept(newDelivery({ body, idempotency: newClaim() }));
  });
  const ids: string[] = [];
  const codes: string[] = [];
  for (const call of await Promise.allSettled(calls)) {
    if (call.status === "fulfilled") ids.push(call.value.deliveryId);
    else codes.push(codeOf(call.reason));
  }
  return { ids, codes };
}

async function listAll(store: DeliveryStore): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 200, ...(cursor !== undefined && { cursor }) });
    ids.push(...page.deliveries.map((delivery) => delivery.id));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return ids;
}

async function countBroken(store: DeliveryStore, ids: readonly string[]): Promise<number> {
  let broken = 0;
  for (const id of ids) {
    const detail = await store.get(id);
    const body = await store.body(id);
    if (detail?.runs.length !== 1 || body?.byteLength !== Number(bodyBytes)) broken++;
  }
  return broken;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

if (makeRoomBy === "remove-filler") writeFileSync(filler, Buffer.alloc(Number(fillerBytes)));
const refusedToOpen = makeRoomBy === "remove-filler" ? await openOnFullDisk() : "UNAVAILABLE";
const store = await open();

const acknowledged: string[] = [];
const refusals: string[] = [];
while (refusals.length < AT_ONCE * 3 || copyFailures < Number(failingCopies)) {
  const { ids, codes } = await acceptRound(store);
  acknowledged.push(...ids);
  refusals.push(...codes);
}
const storedWhenFull = await listAll(store);
const brokenWhenFull = await countBroken(store, storedWhenFull);

makeRoom();
const first = await acceptRound(store);
acknowledged.push(...first.ids);
for (let round = 0; round < AFTERWARDS / AT_ONCE; round++) acknowledged.push(...(await acceptRound(store)).ids);
const { runIds } = (await store.get(acknowledged[0]!))!;
await store.settle(runIds[0]!, { state: "done", reason: null });
await store.close();

const reopened = await open();
const storedAtLast = await listAll(reopened);
const brokenAtLast = await countBroken(reopened, storedAtLast);
await reopened.close();
const integrity = new DatabaseSync(file, { readOnly: true }).prepare("PRAGMA integrity_check").get();

const report: FullDiskReport = {
  refusedToOpen,
  refusals: [...new Set(refusals)],
  acknowledgedWhenFull: storedWhenFull.length,
  refusedAfterRoom: first.codes,
  missing: acknowledged.filter((id) => !storedAtLast.includes(id)).length,
  unasked: storedAtLast.filter((id) => !acknowledged.includes(id)).length,
  broken: brokenWhenFull + brokenAtLast,
  copyFailures,
  integrity: String(integrity?.["integrity_check"]),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
