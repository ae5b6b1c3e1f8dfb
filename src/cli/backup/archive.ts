/** The file of a backup: a tar archive in gzip, of regular files alone, so that other programs can look into it. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { reasonOf } from "../../core/reason-of.ts";
import { CliError } from "../errors.ts";

/** One file to write: what it holds, or where that is. */
export interface ArchiveEntry {
  readonly name: string;
  readonly bytes: number;
  readonly content: Uint8Array | { readonly file: string };
}

const BLOCK = 512;
const NAME_BYTES = 100;
const SIZE_AT = 124;
const CHECKSUM_AT = 148;
const TYPE_AT = 156;
const MAGIC_AT = 257;
const PREFIX_AT = 345;
const PREFIX_BYTES = 155;
const OCTAL_LIMIT = 8 ** 11;
const SPACES = " ".repeat(8);
const FILE_TYPES: ReadonlySet<number> = new Set([0, "0".charCodeAt(0)]);
/** Zeros with which other programs fill up an archive. */
const MAX_TRAILER_BYTES = 1024 * 1024;
/** Most of a database is text; more effort costs time and saves little. */
const GZIP_LEVEL = 3;

/** Writes the archive with mode 0600; `file` must not exist. */
export async function writeArchive(
  file: string,
  entries: readonly ArchiveEntry[],
  onBytes: (count: number) => void,
): Promise<void> {
  async function* blocks(): AsyncGenerator<Uint8Array> {
    for (const entry of entries) {
      yield header(entry);
      if ("file" in entry.content) {
        for await (const chunk of createReadStream(entry.content.file) as AsyncIterable<Buffer>) {
          onBytes(chunk.length);
          yield chunk;
        }
      } else {
        onBytes(entry.bytes);
        yield entry.content;
      }
      yield Buffer.alloc(paddingOf(entry.bytes));
    }
    yield Buffer.alloc(2 * BLOCK);
  }
  await pipeline(
    blocks,
    createGzip({ level: GZIP_LEVEL }),
    createWriteStream(file, { flags: "wx", mode: 0o600, flush: true }),
  );
}

/** A file that is read from an archive; its content has to be taken before the next. */
export interface ReadEntry {
  readonly name: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Buffer>;
}

/** Reads the files of an archive in order. Throws a {@link CliError} for anything else than regular files, and at a cut. */
export async function* readArchive(file: string): AsyncGenerator<ReadEntry> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  const done = pipeline(source, gunzip).catch((error: unknown) => gunzip.destroy(error as Error));
  const reader = new BlockReader(gunzip, file);
  try {
    for (;;) {
      const block = await reader.take(BLOCK);
      if (block.every((byte) => byte === 0)) return await reader.readToEnd();
      const { name, bytes } = readHeader(block, file);
      let left = bytes;
      const content = async function* (): AsyncGenerator<Buffer> {
        while (left > 0) {
          const chunk = await reader.some(left);
          left -= chunk.length;
          yield chunk;
        }
      };
      yield { name, bytes, content: content() };
      if (left > 0) throw new CliError(`The content of ${name} was not read.`);
      await reader.take(paddingOf(bytes));
    }
  } finally {
    source.destroy();
    gunzip.destroy();
    await done;
  }
}

/** Passes content on, and computes its SHA-256 in hexadecimal digits. */
export async function sha256Of(content: AsyncIterable<Uint8Array> | Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  if (content instanceof Uint8Array) hash.update(content);
  else for await (const chunk of content) hash.update(chunk);
  return hash.digest("hex");
}

class BlockReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  readonly #file: string;

  constructor(stream: Readable, file: string) {
    this.#file = file;
    this.#chunks = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  async take(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let left = bytes;
    while (left > 0) {
      const part = await this.some(left);
      left -= part.length;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  /** At least one byte and at most so many. */
  async some(atMost: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const next = await this.#next();
      if (next === undefined) throw brokenArchive(this.#file, "it ends in the middle");
      this.#rest = next;
    }
    const part = this.#rest.subarray(0, atMost);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  /** What gzip says of the whole comes last. */
  async readToEnd(): Promise<void> {
    let bytes = this.#rest.length;
    for (let next = await this.#next(); next !== undefined; next = await this.#next()) {
      bytes += next.length;
      if (bytes > MAX_TRAILER_BYTES) throw brokenArchive(this.#file, "something follows its end");
    }
  }

  async #next(): Promise<Buffer | undefined> {
    try {
      const next = await this.#chunks.next();
      return next.done === true ? undefined : next.value;
    } catch (error) {
      throw brokenArchive(this.#file, reasonOf(error));
    }
  }
}

function paddingOf(bytes: number): number {
  return (BLOCK - (bytes % BLOCK)) % BLOCK;
}

function header({ name, bytes }: ArchiveEntry): Buffer {
  const block = Buffer.alloc(BLOCK);
  const { prefix, last } = splitName(name);
  block.write(last, 0);
  block.write("0000600\0", 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  if (bytes < OCTAL_LIMIT) block.write(`${bytes.toString(8).padStart(11, "0")}\0`, SIZE_AT);
  else {
    block[SIZE_AT] = 0x80;
    block.writeBigUInt64BE(BigInt(bytes), SIZE_AT + 4);
  }
  block.write("00000000000\0", 136);
  block.write("0", TYPE_AT);
  block.write("ustar\x0000", MAGIC_AT, "latin1");
  block.write(prefix, PREFIX_AT);
  block.write(`${checksum(block).toString(8).padStart(6, "0")}\0 `, CHECKSUM_AT);
  return block;
}

function splitName(name: string): { readonly prefix: string; readonly last: string } {
  if (Buffer.byteLength(name) <= NAME_BYTES) return { prefix: "", last: name };
  for (let at = name.indexOf("/"); at !== -1; at = name.indexOf("/", at + 1)) {
    const [prefix, last] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= PREFIX_BYTES && Buffer.byteLength(last) <= NAME_BYTES) return { prefix, last };
  }
  throw new CliError(`The path ${name} is too long for a backup; give the file a shorter name.`);
}

function checksum(block: Buffer): number {
  const copy = Buffer.from(block);
  copy.write(SPACES, CHECKSUM_AT);
  return copy.reduce((sum, byte) => sum + byte, 0);
}

function brokenArchive(file: string, reason: string): CliError {
  return new CliError(`${file} is not a whole backup: ${reason}`);
}

function readHeader(block: Buffer, file: string): { readonly name: string; readonly bytes: number } {
  if (Number.parseInt(textAt(block, CHECKSUM_AT, 8), 8) !== checksum(block))
    throw brokenArchive(file, "a header is damaged");
  const prefix = textAt(block, PREFIX_AT, PREFIX_BYTES);
  const name = `${prefix === "" ? "" : `${prefix}/`}${textAt(block, 0, NAME_BYTES)}`;
  // Links and devices among them.
  if (!FILE_TYPES.has(block.readUInt8(TYPE_AT)))
    throw new CliError(`The backup holds ${JSON.stringify(name)}, which is not a file.`);
  const bytes =
    block.readUInt8(SIZE_AT) === 0x80
      ? Number(block.readBigUInt64BE(SIZE_AT + 4))
      : Number.parseInt(textAt(block, SIZE_AT, 12), 8);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw brokenArchive(file, "a size is damaged");
  return { name, bytes };
}

function textAt(block: Buffer, at: number, bytes: number): string {
  const text = block.subarray(at, at + bytes).toString("utf8");
  const end = text.indexOf("\0");
  return end === -1 ? text : text.slice(0, end);
}
