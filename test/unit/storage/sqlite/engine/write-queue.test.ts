import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { WriteBatch } from "../../../../../src/storage/sqlite/engine/group-commit.ts";
import { SqliteError } from "../../../../../src/storage/sqlite/engine/errors.ts";
import { WriteQueue } from "../../../../../src/storage/sqlite/engine/write-queue.ts";
import type { CommittedReply } from "../../../../../src/storage/sqlite/engine/writer-thread.ts";

function queueWithLog() {
  const sent: WriteBatch[] = [];
  const queue = new WriteQueue((batch) => {
    structuredClone(batch);
    sent.push(batch);
  });
  return { queue, sent };
}

function reply(count: number, changes: Partial<CommittedReply> = {}): CommittedReply {
  return { kind: "committed", count, results: null, failures: [], logBytes: 0, ms: 0, ...changes };
}

describe("WriteQueue", () => {
  it("sends all writes of one turn in one message, in order, and those of the next in another", async () => {
    const { queue, sent } = queueWithLog();
    const first = [queue.push("a", 1), queue.push("b", 2)];
    await Promise.resolve();
    first.push(queue.push("c", 3));
    await nextTurn();
    first.push(queue.push("d", 4));
    await nextTurn();
    expect(sent).toEqual([
      { operations: ["a", "b", "c"], args: [1, 2, 3] },
      { operations: ["d"], args: [4] },
    ]);
    queue.settle(reply(4, { results: ["A", "B", "C", "D"] }));
    expect(await Promise.all(first)).toEqual(["A", "B", "C", "D"]);
  });

  it("gives answers to the oldest callers, however commits cut the messages", async () => {
    const { queue } = queueWithLog();
    const calls = Promise.allSettled(["a", "b", "c", "d", "e"].map((name) => queue.push(name, null)));
    queue.flush();
    queue.settle(reply(2));
    queue.settle(reply(2, { results: [undefined, "four"], failures: [{ index: 0, code: "FAILED", message: "no" }] }));
    queue.settle(reply(1, { failures: [{ index: 0, code: "UNAVAILABLE", message: "full" }] }));
    expect(await calls).toMatchObject([
      { value: undefined },
      { value: undefined },
      { reason: { name: "SqliteError", code: "FAILED", message: "no" } },
      { value: "four" },
      { reason: { code: "UNAVAILABLE", message: "full" } },
    ]);
  });

  it("rejects one caller whose arguments cannot be cloned, and sends the others in order", async () => {
    const { queue, sent } = queueWithLog();
    const calls = Promise.allSettled([queue.push("a", 1), queue.push("b", () => 1), queue.push("c", 3)]);
    queue.flush();
    expect(sent.flatMap((batch) => batch.operations)).toEqual(["a", "c"]);
    queue.settle(reply(2, { results: ["A", "C"] }));
    expect(await calls).toMatchObject([{ value: "A" }, { reason: { code: "FAILED" } }, { value: "C" }]);
    await queue.idle();
  });

  it("rejects callers when nothing can be sent, and those alone", async () => {
    let open = true;
    const queue = new WriteQueue(() => {
      if (!open) throw new SqliteError("UNAVAILABLE", "not now");
    });
    const sent = queue.push("a", 1);
    queue.flush();
    open = false;
    const unsent = Promise.allSettled([queue.push("b", 2), queue.push("c", 3)]);
    queue.flush();
    expect(await unsent).toMatchObject([{ reason: { code: "UNAVAILABLE" } }, { reason: { message: "not now" } }]);
    queue.settle(reply(1, { results: ["A"] }));
    expect(await sent).toBe("A");
  });

  it("rejects what was sent when the thread is lost, and keeps what was not", async () => {
    const { queue, sent } = queueWithLog();
    const lost = Promise.allSettled([queue.push("a", 1), queue.push("b", 2)]);
    queue.flush();
    const kept = queue.push("c", 3);
    queue.rejectSent(new SqliteError("UNAVAILABLE", "gone"));
    expect(await lost).toMatchObject([{ reason: { message: "gone" } }, { reason: { message: "gone" } }]);
    queue.flush();
    expect(sent.at(-1)).toEqual({ operations: ["c"], args: [3] });
    queue.settle(reply(1, { results: ["C"] }));
    expect(await kept).toBe("C");
  });

  it("refuses more than 65,536 waiting writes and takes new ones when some are answered", async () => {
    const { queue } = queueWithLog();
    const calls = Array.from({ length: 65_536 }, () => queue.push("a", 0));
    await expect(queue.push("a", 0)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    queue.flush();
    queue.settle(reply(40_000));
    calls.push(queue.push("a", 0));
    queue.flush();
    queue.settle(reply(25_537));
    expect(await Promise.all(calls)).toHaveLength(65_537);
    await queue.idle();
  });

  it("is idle when every write has its answer", async () => {
    const { queue } = queueWithLog();
    await queue.idle();
    const call = queue.push("a", 1);
    let idle = false;
    const waiting = queue.idle().then(() => (idle = true));
    await nextTurn();
    expect(idle).toBe(false);
    queue.settle(reply(1));
    await waiting;
    expect(await call).toBeUndefined();
  });
});
