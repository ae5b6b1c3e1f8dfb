import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeFrame } from "../../../../../src/transform/sandbox/frames.ts";
import { GatewayChannel } from "../../../../../src/transform/sandbox/worker/gateway-channel.ts";

const LIMITS = { maxJsonBytes: 1_000_000, maxBodyBytes: 1_000_000 };

describe("GatewayChannel", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "reveille-channel-"));
    file = join(folder, "stream");
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  /** A channel over a file, which ends as a stream does that was closed. */
  function overFile<Result>(flags: string, use: (channel: GatewayChannel) => Result): Result {
    const fd = openSync(file, flags);
    try {
      return use(new GatewayChannel(fd, LIMITS));
    } finally {
      closeSync(fd);
    }
  }

  it("reads frames in their order, several in one piece and one in several, then the end", () => {
    const frames = ["1", "2", `"${"x".repeat(150_000)}"`, "4"];
    writeFileSync(file, Buffer.concat(frames.flatMap((json) => encodeFrame(json, Buffer.from(json)))));
    overFile("r", (channel) => {
      for (const json of frames) {
        const frame = channel.read();
        expect(frame?.json).toBe(json);
        expect(Buffer.from(frame?.body ?? []).toString()).toBe(json);
      }
      expect(channel.read()).toBeUndefined();
      expect(channel.read()).toBeUndefined();
    });
  });

  it("writes frames without a body", () => {
    overFile("w", (channel) => {
      channel.write('{"is":"up"}');
      channel.write('"ü"');
    });
    expect(readFileSync(file)).toEqual(Buffer.concat([...encodeFrame('{"is":"up"}'), ...encodeFrame('"ü"')]));
  });

  it("throws what reading or writing throws, and for a frame that is too long", () => {
    writeFileSync(file, Buffer.from([255, 255, 255, 255, 0, 0, 0, 0, 0]));
    overFile("r", (channel) => {
      expect(() => channel.read()).toThrow("at most 1000000 and 1000000 are allowed");
      expect(() => channel.write("{}")).toThrow("EBADF");
    });
  });
});
