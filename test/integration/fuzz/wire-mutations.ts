import type { Prng } from "./prng.ts";

type Mutation = (prng: Prng, bytes: Buffer) => Buffer;

/** Damages a rendered request as bytes: where it ends, and what follows on its connection, is open. */
export function mutateWire(prng: Prng, bytes: Buffer): Buffer {
  let mutated = bytes;
  for (let count = prng.below(3); count >= 0; count--) mutated = prng.pick(MUTATIONS)(prng, mutated);
  return mutated;
}

const MUTATIONS: readonly Mutation[] = [
  flipBits,
  flipBits,
  overwrite,
  insertBytes,
  removeRange,
  repeatRange,
  truncate,
  truncate,
  swapLineEnds,
  insertLine,
  insertLine,
  insertLine,
  otherVersion,
  otherMethod,
  otherLength,
  badChunk,
  oversized,
];

function flipBits(prng: Prng, bytes: Buffer): Buffer {
  return changed(bytes, (copy) => {
    for (let count = prng.below(5); count >= 0; count--) copy[prng.below(copy.length)]! ^= 1 << prng.below(8);
  });
}

function overwrite(prng: Prng, bytes: Buffer): Buffer {
  return changed(bytes, (copy) => {
    const value = prng.pick([0, 0x0a, 0x0d, 0x20, 0x3a, 0xff]);
    for (let count = prng.below(4); count >= 0; count--) copy[prng.below(copy.length)] = value;
  });
}

function insertBytes(prng: Prng, bytes: Buffer): Buffer {
  const inserted = prng.chance(0.3) ? Buffer.alloc(1 + prng.below(40)) : prng.bytes(1 + prng.below(12));
  return splice(bytes, prng.below(bytes.length), 0, inserted);
}

function removeRange(prng: Prng, bytes: Buffer): Buffer {
  return splice(bytes, prng.below(bytes.length), 1 + prng.below(24));
}

function repeatRange(prng: Prng, bytes: Buffer): Buffer {
  const start = prng.below(bytes.length);
  return splice(bytes, start, 0, bytes.subarray(start, start + 1 + prng.below(80)));
}

function truncate(prng: Prng, bytes: Buffer): Buffer {
  return bytes.subarray(0, 1 + prng.below(bytes.length));
}

function swapLineEnds(prng: Prng, bytes: Buffer): Buffer {
  const [from, to] = prng.pick([
    ["\r\n", "\n"],
    ["\r\n", "\r"],
    ["\r\n", "\r\n "],
    [": ", " : "],
    [": ", ":"],
    ["\r\n\r\n", "\r\n"],
  ] as const);
  const at = bytes.indexOf(from, prng.below(bytes.length));
  return at === -1 ? bytes : splice(bytes, at, from.length, Buffer.from(to));
}

const LINES = [
  "Content-Length: 0",
  "Content-Length: -1",
  "Content-Length: +5",
  "Content-Length: 5, 5",
  "Content-Length: 0x10",
  "Content-Length: 99999999999999999999",
  "Content-Length: 9007199254740993",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: \x0bchunked",
  "Connection: close",
  "Connection: Upgrade, HTTP2-Settings",
  "Upgrade: websocket",
  "Upgrade: h2c",
  "Expect: 100-continue",
  "Expect: 200-maybe",
  "Host: other.test",
  "Host:",
  "Authorization: Bearer wrong",
  "x-service-token: wrong",
  "Trailer: Authorization",
  "X-Injected: a\rSet-Cookie: b",
  "X-Injected: a\nX-Second: b",
  "X-\0Nul: a",
  "No colon here",
  ": no name",
  " folded",
  "",
];

/** A line of its own somewhere in the head. */
function insertLine(prng: Prng, bytes: Buffer): Buffer {
  const lineEnds: number[] = [];
  const headEnd = bytes.indexOf("\r\n\r\n");
  for (let at = bytes.indexOf("\r\n"); at !== -1 && at <= headEnd; at = bytes.indexOf("\r\n", at + 2))
    lineEnds.push(at);
  if (lineEnds.length === 0) return bytes;
  return splice(bytes, prng.pick(lineEnds) + 2, 0, Buffer.from(`${prng.pick(LINES)}\r\n`, "latin1"));
}

function otherVersion(prng: Prng, bytes: Buffer): Buffer {
  const version = prng.pick(["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.10", "HTTP/11", "http/1.1", "", "HTTP/1.1 x"]);
  const at = bytes.indexOf("HTTP/1.1");
  return at === -1 ? bytes : splice(bytes, at, 8, Buffer.from(version));
}

function otherMethod(prng: Prng, bytes: Buffer): Buffer {
  const method = prng.pick([
    "post",
    "POST\t",
    " POST",
    "CONNECT",
    "GET",
    "HEAD",
    "PRI",
    "\0",
    "POSTPOST",
    "M-SEARCH",
    "",
  ]);
  const end = bytes.indexOf(" ");
  return end === -1 ? bytes : splice(bytes, 0, end, Buffer.from(method));
}

/** The declared length becomes another one. */
function otherLength(prng: Prng, bytes: Buffer): Buffer {
  const found = /Content-Length: (\d+)/.exec(bytes.toString("latin1"));
  if (!found) return bytes;
  const length = Number(found[1]);
  const other = prng.pick([
    length + 1,
    length - 1,
    length * 2,
    0,
    8_193,
    2 ** 31,
    2 ** 53,
    1e21,
    "0" + length,
    `${length} ${length}`,
  ]);
  return splice(bytes, found.index, found[0].length, Buffer.from(`Content-Length: ${other}`));
}

/** Turns the body into chunks that are none, or hardly. */
function badChunk(prng: Prng, bytes: Buffer): Buffer {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return bytes;
  const head = bytes.toString("latin1", 0, headEnd).replace(/\r\n(?:Content-Length|Transfer-Encoding):[^\r]*/gi, "");
  const body = prng.pick([
    "5\r\nabc\r\n0\r\n\r\n",
    "ffffffffffffffff\r\nabc",
    "-1\r\nabc\r\n0\r\n\r\n",
    '3;a=b;c="d"\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n',
    `3;${"e".repeat(17_000)}\r\nabc\r\n0\r\n\r\n`,
    `0\r\n${"T: x\r\n".repeat(3_000)}\r\n`,
    "3\nabc\n0\n\n",
    "3\r\nabcd\r\n0\r\n\r\n",
    "0\r\n",
    "\r\n\r\n",
    "g\r\n",
    "2\r\n{}\r\n0\r\n\r\n",
  ]);
  return Buffer.from(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`, "latin1");
}

/** More than a head may hold. */
function oversized(prng: Prng, bytes: Buffer): Buffer {
  const lineEnd = bytes.indexOf("\r\n");
  if (lineEnd === -1) return bytes;
  const line = prng.pick([
    `X-Long: ${"x".repeat(17_000)}\r\n`,
    "A: b\r\n".repeat(3_500),
    `${"n".repeat(17_000)}: x\r\n`,
  ]);
  return splice(bytes, lineEnd + 2, 0, Buffer.from(line));
}

function changed(bytes: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
}

function splice(bytes: Buffer, start: number, removed: number, inserted: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(start + removed)]);
}
