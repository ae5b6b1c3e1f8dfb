import { once } from "node:events";
import { statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import threads, { MessageChannel } from "node:worker_threads";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Checkpoints, type FinishCheckpoint } from "../../../../../src/storage/sqlite/engine/checkpoints.ts";
import { openWriteConnection } from "../../../../../src/storage/sqlite/engine/open-connection.ts";
import { serveCheckpoints } from "../../../../../src/storage/sqlite/engine/serve-checkpoints.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const MB = 1024 * 1024;

/** As in a process that can have no more threads. The files of this project share their modules, so none is replaced. */
function withoutThreads(act: () => void): void {
  const spy = vi.spyOn(threads, "Worker").mockImplementation(function fail() {
    throw new Error("Worker initialization failure: EAGAIN");
  });
  syncBuiltinESMExports();
  try {
    act();
  } finally {
    spy.mockRestore();
    syncBuiltinESMExports();
  }
}

function openWithLog(): { file: string; database: DatabaseSync } {
  const file = join(temporaryFolder(), "a.sqlite");
  const database = openWriteConnection(file);
  onTestFinished(() => database.close());
  database.exec("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(1000000))");
  return { file, database };
}

function checkpointsOf(file: string) {
  const asked: FinishCheckpoint[] = [];
  const warn = vi.fn<(fields: object, message: string) => void>();
  let onAsked = () => {};
  const checkpoints = new Checkpoints(
    file,
    (how) => {
      asked.push(how);
      onAsked();
    },
    { logger: { info: () => undefined, warn } },
  );
  onTestFinished(() => checkpoints.close());
  const nextAsked = () => new Promise<void>((resolve) => (onAsked = resolve));
  return { checkpoints, asked, nextAsked, warn };
}

describe("serveCheckpoints", () => {
  it("copies the log into the file on request, and says so", async () => {
    const { file } = openWithLog();
    const { port1, port2 } = new MessageChannel();
    serveCheckpoints(port2, { file });
    expect(statSync(file).size).toBeLessThan(MB / 2);
    port1.postMessage("checkpoint");
    expect(await once(port1, "message")).toEqual([{ ok: true }]);
    expect(statSync(file).size).toBeGreaterThan(MB / 2);
    port1.postMessage("close");
    await once(port1, "close");
  });

  it("does nothing after it was closed", async () => {
    const { file } = openWithLog();
    const { port1, port2 } = new MessageChannel();
    serveCheckpoints(port2, { file });
    port1.postMessage("close");
    port1.postMessage("checkpoint");
    await once(port1, "close");
    expect(statSync(file).size).toBeLessThan(MB / 2);
  });
});

describe("Checkpoints", () => {
  it("leaves a short log alone", async () => {
    const { file } = openWithLog();
    const { checkpoints, asked } = checkpointsOf(file);
    checkpoints.observe(8 * MB - 1);
    await checkpoints.close();
    expect(asked).toEqual([]);
    expect(statSync(file).size).toBeLessThan(MB / 2);
  });

  it("copies a long log in its own thread and then has the writer finish", async () => {
    const { file } = openWithLog();
    const { checkpoints, asked, nextAsked } = checkpointsOf(file);
    const finished = nextAsked();
    checkpoints.observe(8 * MB);
    await finished;
    expect(asked).toEqual(["finish-checkpoint"]);
    expect(statSync(file).size).toBeGreaterThan(MB / 2);
  });

  it("has the writer wait for readers when the log is beyond its cap", async () => {
    const { file } = openWithLog();
    const { checkpoints, asked, nextAsked } = checkpointsOf(file);
    const finished = nextAsked();
    checkpoints.observe(65 * MB);
    await finished;
    expect(asked).toEqual(["restart-log"]);
  });

  it("does one at a time, and the next when the log has grown by another step", async () => {
    const { file } = openWithLog();
    const { checkpoints, asked, nextAsked } = checkpointsOf(file);
    let finished = nextAsked();
    checkpoints.observe(8 * MB);
    checkpoints.observe(40 * MB);
    await finished;
    checkpoints.observe(40 * MB);
    checkpoints.finished();
    expect(asked).toHaveLength(1);
    // Still long, for a reader kept it from starting over: not again at once.
    checkpoints.observe(12 * MB);
    finished = nextAsked();
    checkpoints.observe(16 * MB);
    await finished;
    await checkpoints.close();
    expect(asked).toHaveLength(2);
  });

  it("tries again a second later, although the clock was set back by an hour", async () => {
    const { file } = openWithLog();
    const { checkpoints, asked, nextAsked } = checkpointsOf(file);
    const finished = nextAsked();
    checkpoints.observe(60 * MB);
    await finished;
    checkpoints.finished();
    vi.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 1_000);
    // Longer than the cap, so that it is no pause that asks.
    checkpoints.observe(65 * MB);
    await expect.poll(() => asked).toContain("restart-log");
  });

  it("starts again from the first step when the log has started over", async () => {
    const { file } = openWithLog();
    const { checkpoints, nextAsked } = checkpointsOf(file);
    for (let round = 0; round < 2; round++) {
      const finished = nextAsked();
      checkpoints.observe(9 * MB);
      await finished;
      checkpoints.finished();
      checkpoints.observe(MB);
    }
  });

  it("reports that there is no thread left for it, and tries again later", async () => {
    const { file } = openWithLog();
    const { checkpoints, asked, nextAsked, warn } = checkpointsOf(file);
    withoutThreads(() => checkpoints.observe(8 * MB));
    expect(warn.mock.calls).toMatchObject([
      [{ reason: expect.stringContaining("EAGAIN") as string }, expect.any(String)],
    ]);
    const finished = nextAsked();
    checkpoints.observe(16 * MB);
    await finished;
    expect(asked).toEqual(["finish-checkpoint"]);
  });

  it("reports a thread that cannot open the file and tries again later", async () => {
    const { checkpoints, warn } = checkpointsOf(join(temporaryFolder(), "missing", "a.sqlite"));
    for (const logBytes of [16 * MB, 40 * MB]) {
      warn.mockClear();
      checkpoints.observe(logBytes);
      await expect.poll(() => warn.mock.calls.length).toBe(1);
      expect(warn.mock.calls[0]?.[1]).toMatch(/log could not be copied; trying again/u);
      await checkpoints.close();
    }
  });

  it("continues after a thread that failed was asked once more before it had ended", async () => {
    const { checkpoints, warn } = checkpointsOf(join(temporaryFolder(), "missing", "a.sqlite"));
    const ended = new Promise<void>((resolve) => {
      warn.mockImplementationOnce(() => {
        checkpoints.observe(40 * MB);
        resolve(checkpoints.close());
      });
    });
    checkpoints.observe(8 * MB);
    await ended;
    checkpoints.observe(60 * MB);
    await expect.poll(() => warn.mock.calls.length).toBe(2);
  });
});
