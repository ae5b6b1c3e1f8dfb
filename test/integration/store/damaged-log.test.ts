import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { SqliteDatabase } from "../../../src/storage/sqlite/engine/database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../src/storage/sqlite/delivery-store.ts";
import { newDelivery } from "../../conformance/store/new-delivery.ts";
import { listAll } from "../../conformance/store/store-actions.ts";

const script = fileURLToPath(new URL("./accepting-process.ts", import.meta.url));
const FILE = "deliveries.sqlite";
const ACCEPTED = 60;

/** The state of a process that was killed after it had accepted calls. */
let killed: string;
let acknowledged: readonly string[];

beforeAll(async () => {
  killed = mkdtempSync(join(tmpdir(), "damaged-log-"));
  acknowledged = await acceptAndKill(join(killed, FILE));
}, 60_000);
afterAll(() => rmSync(killed, { recursive: true }));

async function acceptAndKill(file: string): Promise<readonly string[]> {
  const child = spawn(process.execPath, [script, file], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinishedOrNot(() => void child.kill("SIGKILL"));
  let output = "";
  await new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.split("\n").length > ACCEPTED) resolve();
    });
  });
  child.kill("SIGKILL");
  await once(child, "close");
  return output.slice(0, output.lastIndexOf("\n")).split("\n").slice(1);
}

/** The child of a hook has no test that finishes. */
function onTestFinishedOrNot(end: () => void): void {
  process.once("exit", end);
}

/** A copy of the killed process's state. */
function copyState(): { readonly file: string; readonly log: string } {
  const folder = mkdtempSync(join(tmpdir(), "damaged-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(killed, folder, { recursive: true });
  return { file: join(folder, FILE), log: join(folder, `${FILE}-wal`) };
}

function loggerOf() {
  return {
    info: vi.fn<(fields: object, message: string) => void>(),
    warn: vi.fn<(fields: object, message: string) => void>(),
  };
}

async function openStore(file: string, options: { acceptLoss?: boolean; logger?: ReturnType<typeof loggerOf> } = {}) {
  const database = await SqliteDatabase.open({ file, modules: [sqliteStoreModule], ...options });
  return SqliteDeliveryStore.open(database, { ownsDatabase: true });
}

async function storedIds(file: string): Promise<readonly string[]> {
  const logger = loggerOf();
  const store = await openStore(file, { logger });
  const ids = await listAll(store, { limit: 200 });
  await store.close();
  expect(logger.warn).not.toHaveBeenCalled();
  return ids;
}

function remove(...paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
}

describe("a start after a kill", () => {
  it("has every acknowledged call, and warns of nothing, also when it is killed and started again and again", async () => {
    const { file } = copyState();
    expect(await storedIds(file)).toEqual(expect.arrayContaining([...acknowledged]));
    const more = await acceptAndKill(file);
    const stored = await storedIds(file);
    expect(stored).toEqual(expect.arrayContaining([...acknowledged, ...more]));
  });

  type State = ReturnType<typeof copyState>;
  it.each<[string, RegExp, (state: State) => void]>([
    ["64 bytes of the log are overwritten", /-wal is damaged: \d+ pages/, ({ log }) => overwrite(log, 20_000, 64)],
    ["the log is cut in half", /-wal is damaged: \d+ pages/, ({ log }) => truncateSync(log, statSync(log).size / 2)],
    ["the log is cut by the last 10 bytes of its last commit", /-wal is damaged: \d+ pages?/, cutLastCommit],
    ["the log's header is overwritten", /-wal is empty or damaged/, ({ log }) => overwrite(log, 0, 32)],
    ["the log is removed", /-wal is gone/, ({ log, file }) => remove(log, `${file}-shm`)],
    ["the log is emptied", /-wal is empty or damaged/, ({ log }) => truncateSync(log, 0)],
    ["the database file is emptied", /sqlite is gone or empty/, ({ file }) => truncateSync(file, 0)],
    ["the database file is removed, and the log is there", /sqlite is gone or empty/, ({ file }) => remove(file)],
    [
      "the database file and its log are removed",
      /sqlite is gone or empty/,
      ({ file, log }) => remove(file, log, `${file}-shm`),
    ],
  ])("refuses when %s, and continues with --accept-loss", async (_what, reason, damage) => {
    const state = copyState();
    damage(state);
    const refused = openStore(state.file);
    await expect(refused).rejects.toThrow(reason);
    await expect(refused).rejects.toThrow(/until \d{4}-.+Z may be missing\. Restore .+ start once with --accept-loss/);

    const logger = loggerOf();
    const store = await openStore(state.file, { acceptLoss: true, logger });
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ loss: expect.stringMatching(reason) as string }),
      "a loss of accepted calls was accepted",
    );
    const { deliveryId } = await store.accept(newDelivery());
    await store.close();
    expect(await storedIds(state.file)).toContain(deliveryId);
  });

  it("refuses another database in the place of its own", async () => {
    const { file, log } = copyState();
    await storedIds(file);
    const other = join(file, "..", "other.sqlite");
    const store = await openStore(other);
    await store.close();
    remove(file, log);
    cpSync(other, file);
    await expect(openStore(file)).rejects.toThrow(/was replaced by another one/);
  });

  it("begins with nothing when all its files are removed", async () => {
    const { file, log } = copyState();
    remove(file, log, `${file}-shm`, `${file}.mark`);
    expect(await storedIds(file)).toEqual([]);
  });

  it("asks only for what an older mark file knows, as after a loss of power", async () => {
    const { file } = copyState();
    const older = readFileSync(`${file}.mark`);
    await acceptAndKill(file);
    writeFileSync(`${file}.mark`, older);
    expect(await storedIds(file)).toEqual(expect.arrayContaining([...acknowledged]));
  });

  it("needs no log once the gateway was stopped, or a burst was over for a moment", async () => {
    const { file, log } = copyState();
    const store = await openStore(file);
    const { deliveryId } = await store.accept(newDelivery());
    // The log is in the file once the mark says so: frames and copied frames.
    await vi.waitFor(
      () => {
        const mark = readFileSync(`${file}.mark`);
        expect(mark.readUInt32BE(16)).toBe(mark.readUInt32BE(20));
      },
      { timeout: 20_000 },
    );
    const copy = `${file}-copy`;
    cpSync(file, copy);
    cpSync(`${file}.mark`, `${copy}.mark`);
    await store.close();
    expect(await storedIds(copy)).toContain(deliveryId);
    remove(log);
    expect(await storedIds(file)).toContain(deliveryId);
  });

  it("warns of nothing when a process exited without closing the database", async () => {
    const { file } = copyState();
    const code = `
      const { SqliteDatabase } = await import(${JSON.stringify(new URL("../../../src/storage/sqlite/engine/database.ts", import.meta.url).href)});
      const { SqliteDeliveryStore, sqliteStoreModule } = await import(${JSON.stringify(new URL("../../../src/storage/sqlite/delivery-store.ts", import.meta.url).href)});
      const { newDelivery } = await import(${JSON.stringify(new URL("../../conformance/store/new-delivery.ts", import.meta.url).href)});
      const database = await SqliteDatabase.open({ file: ${JSON.stringify(file)}, modules: [sqliteStoreModule] });
      await SqliteDeliveryStore.open(database).accept(newDelivery());
      process.exit(3);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
    expect((await once(child, "exit"))[0]).toBe(3);
    expect((await storedIds(file)).length).toBeGreaterThan(acknowledged.length);
  });
});

function overwrite(path: string, offset: number, bytes: number): void {
  const content = readFileSync(path);
  content.fill(0xff, offset, offset + bytes);
  writeFileSync(path, content);
}

/** The log may be longer than its last commit: what follows is of a commit that was not finished. */
function cutLastCommit({ file, log }: { file: string; log: string }): void {
  const mark = readFileSync(`${file}.mark`);
  const frames = mark.readUInt32BE(16);
  truncateSync(log, 32 + frames * (24 + mark.readUInt32BE(32)) - 10);
}
