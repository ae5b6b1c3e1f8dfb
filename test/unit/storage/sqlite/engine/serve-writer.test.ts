import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LogRestart } from "../../../../../src/storage/sqlite/engine/log-restart.ts";
import { serveWriter } from "../../../../../src/storage/sqlite/engine/writer.ts";
import type { WriterReply, WriterRequest } from "../../../../../src/storage/sqlite/engine/writer-thread.ts";
import { notesModule } from "./notes-module.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A writer served in this thread. */
async function serve(file: string, modules: readonly string[] = [notesModule.href]) {
  const { port1, port2 } = new MessageChannel();
  const replies: WriterReply[] = [];
  port1.on("message", (reply: WriterReply) => replies.push(reply));
  onTestFinished(() => port1.close());
  await serveWriter(port2, { file, modules, logRestart: new LogRestart().shared });
  const send = (request: WriterRequest) => port1.postMessage(request);
  const until = async (count: number) => {
    while (replies.length < count) await once(port1, "message");
    return replies;
  };
  return { port: port1, send, until, closed: closedOf(port1) };
}

function closedOf(port: MessagePort): Promise<unknown> {
  return new Promise((resolve) => port.once("close", resolve));
}

const add = (...ids: number[]) => ({ operations: ids.map(() => "notes.add"), args: ids.map((id) => [id, "text"]) });

describe("serveWriter", () => {
  it("answers that it is ready, and then each commit with its results and the length of the log", async () => {
    const writer = await serve(join(temporaryFolder(), "a.sqlite"));
    writer.send({ operations: ["notes.add", "notes.echo"], args: [[1, "x"], "back"] });
    const [ready, committed] = await writer.until(2);
    expect(ready).toEqual({ kind: "ready" });
    expect(committed).toMatchObject({ kind: "committed", count: 2, results: [undefined, "back"], failures: [] });
    expect(committed?.kind === "committed" && committed.logBytes).toBeGreaterThan(0);
    writer.send("close");
    await writer.closed;
  });

  it("commits together the writes that are waiting, at most 512 at once", async () => {
    const writer = await serve(join(temporaryFolder(), "a.sqlite"));
    await writer.until(1);
    for (let id = 0; id < 300; id++) writer.send(add(id));
    writer.send(add(...Array.from({ length: 1000 }, (_, index) => 1000 + index)));
    writer.send("close");
    await writer.closed;
    const counts = (await writer.until(1)).flatMap((reply) => (reply.kind === "committed" ? [reply.count] : []));
    expect(counts).toEqual([512, 512, 276]);
  });

  it("lets reads wait while it starts the log over, and at no other time", async () => {
    const withoutReads = vi.spyOn(LogRestart.prototype, "withoutReads");
    const writer = await serve(join(temporaryFolder(), "a.sqlite"));
    writer.send(add(1));
    writer.send("finish-checkpoint");
    await writer.until(3);
    expect(withoutReads).not.toHaveBeenCalled();
    writer.send("restart-log");
    await writer.until(4);
    expect(withoutReads).toHaveBeenCalledOnce();
    writer.send("close");
    await writer.closed;
  });

  it("finishes writes that were sent before it was closed", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const writer = await serve(file);
    writer.send(add(1));
    writer.send(add(2));
    writer.send("close");
    await writer.closed;
    const database = new DatabaseSync(file);
    expect(database.prepare("SELECT id FROM notes").all()).toEqual([{ id: 1 }, { id: 2 }]);
    database.close();
  });

  it("starts the log over after the rest of it was copied", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const writer = await serve(file);
    const lengths: number[] = [];
    let replies = 1;
    const commitMany = async (first: number, count: number) => {
      writer.send(add(...Array.from({ length: count }, (_, index) => first + index)));
      const committed = (await writer.until(++replies)).at(-1);
      lengths.push(committed?.kind === "committed" ? committed.logBytes : Number.NaN);
    };
    for (const request of ["finish-checkpoint", "restart-log"] as const) {
      await commitMany(replies * 1000, 300);
      writer.send(request);
      expect((await writer.until(++replies)).at(-1)).toEqual({ kind: "checkpointed" });
      await commitMany(replies * 1000, 1);
    }
    expect(lengths[1]).toBeLessThan(lengths[0]!);
    expect(lengths[3]).toBeLessThan(lengths[2]!);
    writer.send("close");
    await writer.closed;
  });

  it.each([
    ["a file in a folder that does not exist", "missing/a.sqlite", [], true],
    ["a module that does not exist", "a.sqlite", ["file:///missing-module.js"], false],
    [
      "a module that exports no sqliteModule",
      "a.sqlite",
      [new URL("./temporary-folder.ts", import.meta.url).href],
      false,
    ],
  ])("refuses %s and ends", async (_, name, modules, environmental) => {
    const writer = await serve(join(temporaryFolder(), name), modules);
    await writer.closed;
    const replies = await writer.until(1);
    expect(replies).toEqual([{ kind: "refused", message: expect.any(String) as string, environmental }]);
  });
});
