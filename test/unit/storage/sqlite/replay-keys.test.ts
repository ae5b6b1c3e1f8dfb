import { describe, expect, it } from "vitest";
import {
  packKey,
  packReplayKeys,
  storedReplayKeys,
  unpackKey,
  unpackReplayKeys,
} from "../../../../src/storage/sqlite/replay-keys.ts";

const mark = (fill: number, expiresAt: number) => ({ key: new Uint8Array(32).fill(fill), expiresAt });

describe("packed replay keys", () => {
  it("give back the first half of each key and its time, wherever they lie in memory", () => {
    const packed = storedReplayKeys(packReplayKeys([mark(1, 1_767_323_045_678), mark(200, 5)]))!;
    expect(packed).toHaveLength(48);
    const shifted = new Uint8Array([9, ...packed]).subarray(1);
    expect(unpackReplayKeys(shifted).map(({ key, expiresAt }) => [[...Buffer.from(key, "latin1")], expiresAt])).toEqual(
      [
        [Array.from({ length: 16 }, () => 1), 1_767_323_045_678],
        [Array.from({ length: 16 }, () => 200), 5],
      ],
    );
  });

  it("are nothing when there are none", () => {
    expect(packReplayKeys()).toBeNull();
    expect(packReplayKeys([])).toBeNull();
    expect(unpackReplayKeys(storedReplayKeys(null))).toEqual([]);
  });

  it("are at most eight", () => {
    const eight = Array.from({ length: 8 }, (_, at) => mark(at, at));
    expect(unpackReplayKeys(storedReplayKeys(packReplayKeys(eight)))).toHaveLength(8);
    expect(() => packReplayKeys([...eight, mark(8, 8)])).toThrow(RangeError);
  });

  it("pack a key alone as the first half of it, wherever it lies in memory", () => {
    const key = new Uint8Array(40).map((_, at) => 255 - at).subarray(8);
    expect([...unpackKey(packKey(key))]).toEqual(Array.from({ length: 16 }, (_, at) => 247 - at));
  });
});
