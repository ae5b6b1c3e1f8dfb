import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameReader, FrameTooLongError, encodeFrame } from "../../../../src/transform/sandbox/frames.ts";

interface Seen {
  readonly json: string;
  readonly body: string;
}

const LIMITS = { maxJsonBytes: 1_000_000, maxBodyBytes: 1_000_000 };

function bytesOf(frames: readonly Seen[]): Buffer {
  return Buffer.concat(frames.flatMap(({ json, body }) => encodeFrame(json, Buffer.from(body, "latin1"))));
}

function readAll(chunks: Iterable<Uint8Array>, limits = LIMITS): readonly Seen[] {
  const reader = new FrameReader(limits);
  const seen: Seen[] = [];
  for (const chunk of chunks) {
    reader.push(chunk, ({ json, body }) => seen.push({ json, body: Buffer.from(body).toString("latin1") }));
    // A chunk's memory may be used again at once.
    chunk.fill(0xff);
  }
  return seen;
}

function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield Buffer.from(bytes.subarray(at, at + size));
    at += size;
  }
}

describe("frames", () => {
  it("arrive the same however the stream is cut", () => {
    const frame = fc.record({
      json: fc.string({ unit: "grapheme", maxLength: 300 }),
      body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
    });
    const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), sizes, (frames, chunks) => {
        expect(readAll(cut(bytesOf(frames), chunks))).toEqual(frames);
      }),
    );
  });

  it("arrive byte by byte, also when they are longer than the first memory set aside for them", () => {
    const frames = [
      { json: "ü".repeat(100_000), body: "b".repeat(150_000) },
      { json: "", body: "" },
      { json: "{}", body: "\u00ff\u0000" },
    ];
    expect(readAll(cut(bytesOf(frames), [1]))).toEqual(frames);
  });

  it("are written without a copy of a long body", () => {
    const long = new Uint8Array(70_000);
    expect(encodeFrame("{}", long)[1]).toBe(long);
    expect(encodeFrame("{}", new Uint8Array(10))).toHaveLength(1);
    expect(encodeFrame("{}")).toEqual([Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0x7b, 0x7d)]);
  });

  it("hand out the body as memory of its own", () => {
    const [chunk = Buffer.alloc(0)] = encodeFrame("[]", Buffer.from("body"));
    const bodies: Uint8Array[] = [];
    new FrameReader(LIMITS).push(Buffer.concat([chunk, chunk]), ({ body }) => bodies.push(body));
    expect(bodies.map((body) => body.buffer.byteLength)).toEqual([4, 4]);
    expect(bodies.map((body) => Buffer.from(body).toString())).toEqual(["body", "body"]);
  });

  it("keep a byte order mark, and read what is not UTF-8 as U+FFFD", () => {
    expect(readAll([Buffer.concat(encodeFrame("\uFEFF{}"))])).toEqual([{ json: "\uFEFF{}", body: "" }]);
    const broken = Buffer.concat(encodeFrame("ab"));
    broken[9] = 0xc3;
    expect(readAll([broken])).toEqual([{ json: "a\uFFFD", body: "" }]);
  });

  it.each([
    ["JSON", [4_294_967_295, 0]],
    ["body", [0, 11]],
  ])("are refused by what they announce, before any of it arrives: %s", (_, [json = 0, body = 0]) => {
    const head = Buffer.alloc(8);
    head.writeUInt32LE(json, 0);
    head.writeUInt32LE(body, 4);
    const reader = new FrameReader({ maxJsonBytes: 10, maxBodyBytes: 10 });
    const push = (): void => reader.push(head, () => expect.unreachable("no frame"));
    expect(push).toThrow(FrameTooLongError);
    expect(push).toThrow(FrameTooLongError);
  });

  it("may be exactly as long as is allowed", () => {
    const frames = [{ json: "0123456789", body: "9876543210" }];
    expect(readAll([bytesOf(frames)], { maxJsonBytes: 10, maxBodyBytes: 10 })).toEqual(frames);
  });

  it("set no memory aside for what a peer only announces", () => {
    const head = Buffer.alloc(9);
    head.writeUInt32LE(400_000_000, 0);
    head.writeUInt32LE(400_000_000, 4);
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 20 }, () => {
      const reader = new FrameReader({ maxJsonBytes: 500_000_000, maxBodyBytes: 500_000_000 });
      reader.push(head, () => expect.unreachable("no frame"));
      return reader;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
    expect(readers).toHaveLength(20);
  });
});
