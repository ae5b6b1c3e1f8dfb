import { closeSync, openSync, readSync } from "node:fs";

/** The write-ahead log as it is on disk, read without SQLite. */
export interface LogFile {
  /** Identifies the log between two times that it starts over; the first of the two then grows by one. */
  readonly salts: readonly [number, number];
  /** Frames up to the end of the last whole commit; SQLite ignores what follows. */
  readonly frames: number;
}

export const LOG_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
/** The last bit says that the checksums are of big-endian words. */
const MAGIC = 0x37_7f_06_82;
const READ_BYTES = 1024 * 1024;

/**
 * Reads `<file>-wal`; `undefined` when it is absent or has no valid header, so that SQLite would ignore it.
 * Source: https://www.sqlite.org/fileformat2.html#walformat
 */
export function readLogFile(file: string): LogFile | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(`${file}-wal`, "r");
  } catch {
    return undefined;
  }
  try {
    return readFrames(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The salts of an open log, without a look at its frames; `undefined` when it is empty. */
export function readSalts(descriptor: number, into: Buffer): readonly [number, number] | undefined {
  if (readSync(descriptor, into, 0, LOG_HEADER_BYTES, 0) < LOG_HEADER_BYTES) return undefined;
  return [into.readUInt32BE(16), into.readUInt32BE(20)];
}

function readFrames(descriptor: number): LogFile | undefined {
  const header = Buffer.allocUnsafeSlow(LOG_HEADER_BYTES);
  const salts = readSalts(descriptor, header);
  const magic = header.readUInt32BE(0);
  if (salts === undefined || (magic & ~1) !== MAGIC) return undefined;
  const checksum = new Checksum(magic % 2 === 1);
  checksum.add(header, 0, LOG_HEADER_BYTES - 8);
  if (!checksum.equals(header, LOG_HEADER_BYTES - 8)) return undefined;
  const pageBytes = header.readUInt32BE(8);
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const chunk = Buffer.allocUnsafeSlow(Math.max(1, Math.floor(READ_BYTES / frameBytes)) * frameBytes);
  let frames = 0;
  let committed = 0;
  for (;;) {
    const read = readSync(descriptor, chunk, 0, chunk.length, LOG_HEADER_BYTES + frames * frameBytes);
    for (let at = 0; at + frameBytes <= read; at += frameBytes) {
      if (chunk.readUInt32BE(at + 8) !== salts[0] || chunk.readUInt32BE(at + 12) !== salts[1]) {
        return { salts, frames: committed };
      }
      checksum.add(chunk, at, 8);
      checksum.add(chunk, at + FRAME_HEADER_BYTES, pageBytes);
      if (!checksum.equals(chunk, at + 16)) return { salts, frames: committed };
      frames++;
      // The size of the database, only in the last frame of a commit.
      if (chunk.readUInt32BE(at + 4) !== 0) committed = frames;
    }
    if (read < chunk.length) return { salts, frames: committed };
  }
}

/** The running checksum of a log. */
class Checksum {
  readonly #isBigEndian: boolean;
  #first = 0;
  #second = 0;

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  add(bytes: Buffer, offset: number, length: number): void {
    let first = this.#first;
    let second = this.#second;
    for (let at = offset; at < offset + length; at += 8) {
      const one = this.#isBigEndian ? bytes.readInt32BE(at) : bytes.readInt32LE(at);
      const two = this.#isBigEndian ? bytes.readInt32BE(at + 4) : bytes.readInt32LE(at + 4);
      first = (first + one + second) | 0;
      second = (second + two + first) | 0;
    }
    this.#first = first;
    this.#second = second;
  }

  equals(bytes: Buffer, offset: number): boolean {
    return bytes.readInt32BE(offset) === this.#first && bytes.readInt32BE(offset + 4) === this.#second;
  }
}
