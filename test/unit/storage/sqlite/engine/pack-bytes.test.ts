import { serialize } from "node:v8";
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { packBytes } from "../../../../../src/storage/sqlite/engine/write-queue.ts";

describe("packBytes", () => {
  it("leaves arguments without bytes as they are and hands nothing over", () => {
    const args = [1, "x", null, undefined, [1, [2]], { a: { b: 1 } }];
    expect(packBytes(args)).toEqual({ args, transfer: [] });
    expect(packBytes(args).args).toBe(args);
  });

  it("brings bytes across unchanged, wherever it looks for them", () => {
    const args = [
      Buffer.from("whole"),
      ["x", Buffer.from("item"), 5, Buffer.from("second")],
      { key: Buffer.from("value"), other: 1 },
      "nothing",
      [1, 2],
      new Uint8Array(0),
    ];
    expect(cross(args)).toEqual([
      bytes("whole"),
      ["x", bytes("item"), 5, bytes("second")],
      { key: bytes("value"), other: 1 },
      "nothing",
      [1, 2],
      bytes(""),
    ]);
  });

  it("takes only the bytes themselves along, not the buffer around them", () => {
    const slab = Buffer.alloc(1_000_000, "secret");
    const { args, transfer } = packBytes([[slab.subarray(10, 14)], slab.subarray(20, 23)]);
    expect(transfer.map((buffer) => buffer.byteLength)).toEqual([7]);
    expect(args[1]).toHaveProperty("buffer", transfer[0]);
  });

  it("leaves the caller's arguments usable", () => {
    const row = ["x", Buffer.from("kept")];
    const { transfer } = packBytes([row]);
    structuredClone(null, { transfer });
    expect(row).toEqual(["x", Buffer.from("kept")]);
  });

  it("makes lists that are cloned as lists, not item by item with their keys", () => {
    const { args } = packBytes([["x", Buffer.from("a")]]);
    const denseArrayTag = "A".charCodeAt(0);
    const afterHeader = 2;
    expect(serialize(args)[afterHeader]).toBe(denseArrayTag);
    expect(serialize(args[0])[afterHeader]).toBe(denseArrayTag);
  });
});

/** What another thread gets. */
function cross(args: readonly unknown[]): unknown {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const packed = packBytes(args);
  port1.postMessage(packed.args, packed.transfer);
  return receiveMessageOnPort(port2)?.message as unknown;
}

function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text));
}
