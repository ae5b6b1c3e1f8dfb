/** The file of a backup: a tar archive in gzip, of regular files alone, so that other programs can look into it. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { Writable } from "node:stream";
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

/** Most of a database is text; more effort costs time and saves little. */
const GZIP_LEVEL = 3;

/** Writes the archive with mode 0600; `file` must not exist. Rejects when an entry has other bytes than it says. */
export async function writeArchive(
  file: string,
  entries: readonly ArchiveEntry[],
  onBytes: (count: number) => void,
): Promise<void> {
  const { createTarPacker } = await import("modern-tar");
  const { readable, controller } = createTarPacker();
  const output = createWriteStream(file, { flags: "wx", mode: 0o600, flush: true });
  const written = pipeline(readable, createGzip({ level: GZIP_LEVEL }), output);
  const add = async ({ name, bytes, content }: ArchiveEntry): Promise<void> => {
    const header = { name, size: bytes, mode: 0o600, mtime: new Date(0) };
    const writer = controller.add(header).getWriter();
    const chunks = "file" in content ? (createReadStream(content.file) as AsyncIterable<Buffer>) : [content];
    for await (const chunk of chunks) {
      onBytes(chunk.length);
      await writer.write(chunk);
    }
    await writer.close();
  };
  const added = (async () => {
    for (const entry of entries) await add(entry);
    controller.finalize();
  })().catch((error: unknown) => {
    controller.error(error);
    throw error;
  });
  // The first of both to fail says why: an archive that cannot be written takes no more entries.
  await Promise.all([written, added]);
}

/** A file that is read from an archive; its content has to be taken before the next. */
export interface ReadEntry {
  readonly name: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Reads the files of an archive in order. Throws a {@link CliError} for anything else than regular files, and at a cut. */
export async function* readArchive(file: string): AsyncGenerator<ReadEntry> {
  const { createTarDecoder } = await import("modern-tar");
  const { readable, writable } = createTarDecoder({ strict: true });
  // What fails here fails the reading of the entries as well.
  const unpacked = pipeline(createReadStream(file), createGunzip(), Writable.fromWeb(writable)).catch(() => {});
  const entries = wholeOnly(readable, file);
  try {
    for await (const { header, body } of entries) {
      const { name, size, type } = header;
      if (type !== "file") throw new CliError(`The backup holds ${JSON.stringify(name)}, which is not a file.`);
      let left = size;
      const content = async function* (): AsyncGenerator<Uint8Array> {
        for await (const chunk of wholeOnly(body, file)) {
          left -= chunk.length;
          yield chunk;
        }
      };
      yield { name, bytes: size, content: content() };
      if (left > 0) throw new CliError(`The content of ${name} was not read.`);
    }
  } finally {
    await unpacked;
  }
}

/** What a stream gives; names the archive in its failures. */
async function* wholeOnly<Value>(stream: ReadableStream<Value>, file: string): AsyncGenerator<Value> {
  const values = stream.values();
  try {
    for (;;) {
      const next = await values.next().catch((error: unknown) => {
        throw new CliError(`${file} is not a whole backup: ${reasonOf(error)}`);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await values.return?.();
  }
}

/** Passes content on, and computes its SHA-256 in hexadecimal digits. */
export async function sha256Of(content: AsyncIterable<Uint8Array> | Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  if (content instanceof Uint8Array) hash.update(content);
  else for await (const chunk of content) hash.update(chunk);
  return hash.digest("hex");
}
