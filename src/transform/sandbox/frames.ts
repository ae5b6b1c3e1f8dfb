/**
 * Frames of the protocol in sandbox-messages.ts, made and read the same on both sides.
 *
 * Inside of a sandbox process this runs beside the modules, so everything it calls was taken before they
 * were loaded: a module that patches `Uint8Array.prototype` or `TextDecoder` changes no frame.
 */

export interface Frame {
  /** Whatever was not UTF-8 is U+FFFD. */
  readonly json: string;
  /** Memory of its own, empty in a frame without bytes. */
  readonly body: Uint8Array;
}

export interface FrameLimits {
  readonly maxJsonBytes: number;
  readonly maxBodyBytes: number;
}

/** A frame that announces more than it may; whatever follows on the same stream has no meaning. */
export class FrameTooLongError extends Error {
  override readonly name = "FrameTooLongError";
}

const Bytes = Uint8Array;
const Memory = ArrayBuffer;
const byteLength = Buffer.byteLength.bind(Buffer);
const encodeInto = TextEncoder.prototype.encodeInto.bind(new TextEncoder());
/** Text of UTF-8, also when a module has replaced the decoder. */
export const decode = TextDecoder.prototype.decode.bind(new TextDecoder("utf-8", { ignoreBOM: true }));
const typedArray: object = Reflect.getPrototypeOf(Bytes.prototype) ?? {};
const { bind, call } = Function.prototype as unknown as Readonly<Record<"bind" | "call", () => unknown>>;
/** Makes a method a function of what it is called on. */
const uncurry = Reflect.apply(bind, bind, [call]) as (method: unknown) => unknown;
const setBytes = uncurry(Reflect.get(typedArray, "set")) as (
  target: Uint8Array,
  source: Uint8Array,
  at: number,
) => void;
/** The length of bytes, also when a module has replaced the getter of that name. */
export const lengthOf = uncurry(getter("length")) as (bytes: Uint8Array) => number;
const offsetOf = uncurry(getter("byteOffset")) as (bytes: Uint8Array) => number;
/** The memory below bytes, also when a module has replaced the getter of that name. */
export const memoryOf = uncurry(getter("buffer")) as (bytes: Uint8Array) => ArrayBuffer;

const HEAD_BYTES = 8;
/** Bytes that are reserved for a frame before it arrives, whatever length it announces. */
const FIRST_BYTES = 64 * 1024;
/** From here on a second write costs less than a copy. */
const OWN_CHUNK_BYTES = 64 * 1024;

/** A frame as the chunks to write, in this order: one, or two when the body is long, which is then not copied. */
export function encodeFrame(
  json: string,
  body?: Uint8Array,
): readonly [Uint8Array] | readonly [Uint8Array, Uint8Array] {
  const jsonBytes = byteLength(json);
  const bodyBytes = body === undefined ? 0 : lengthOf(body);
  const isCopied = bodyBytes <= OWN_CHUNK_BYTES;
  const memory = new Memory(HEAD_BYTES + jsonBytes + (isCopied ? bodyBytes : 0));
  const head = new Bytes(memory, 0, HEAD_BYTES);
  writeLength(head, 0, jsonBytes);
  writeLength(head, 4, bodyBytes);
  encodeInto(json, new Bytes(memory, HEAD_BYTES, jsonBytes));
  const frame = new Bytes(memory);
  if (body === undefined) return [frame];
  if (!isCopied) return [frame, body];
  copy(body, 0, bodyBytes, frame, HEAD_BYTES + jsonBytes);
  return [frame];
}

/**
 * Reads frames from a stream of bytes, however it is cut. Costs time in proportion to the bytes, and holds
 * the bytes of one frame, of a long one at most twice what has arrived.
 */
export class FrameReader {
  readonly #limits: FrameLimits;
  readonly #head = new Bytes(HEAD_BYTES);
  #headBytes = 0;
  #json = new Part(0);
  #body = new Part(0);

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** Hands on the frames that are complete with this chunk, which may be reused; throws {@link FrameTooLongError}. */
  push(chunk: Uint8Array, take: (frame: Frame) => void): void {
    const end = lengthOf(chunk);
    let at = 0;
    while (at < end) {
      if (this.#headBytes < HEAD_BYTES) {
        this.#head[this.#headBytes++] = chunk[at++] ?? 0;
        if (this.#headBytes === HEAD_BYTES) this.#begin();
      } else {
        at += this.#json.fill(chunk, at, end);
        at += this.#body.fill(chunk, at, end);
      }
      if (this.#headBytes === HEAD_BYTES && this.#json.isFull && this.#body.isFull) {
        const frame = { json: decode(this.#json.bytes), body: this.#body.bytes };
        this.#headBytes = 0;
        take(frame);
      }
    }
  }

  #begin(): void {
    const jsonBytes = readLength(this.#head, 0);
    const bodyBytes = readLength(this.#head, 4);
    const { maxJsonBytes, maxBodyBytes } = this.#limits;
    if (jsonBytes > maxJsonBytes || bodyBytes > maxBodyBytes) {
      // The next push comes here again, since nothing after this has a meaning.
      this.#headBytes--;
      const announced = `a frame of ${jsonBytes} bytes of JSON and ${bodyBytes} bytes of body`;
      throw new FrameTooLongError(`${announced}; at most ${maxJsonBytes} and ${maxBodyBytes} are allowed`);
    }
    this.#json = new Part(jsonBytes);
    this.#body = new Part(bodyBytes);
  }
}

/** One of the two parts of a frame, while it arrives. */
class Part {
  readonly #length: number;
  #memory: ArrayBuffer;
  #filled = 0;

  constructor(length: number) {
    this.#length = length;
    this.#memory = new Memory(length < FIRST_BYTES ? length : FIRST_BYTES);
  }

  get isFull(): boolean {
    return this.#filled === this.#length;
  }

  /** Once it is full. */
  get bytes(): Uint8Array {
    return new Bytes(this.#memory, 0, this.#length);
  }

  /** Takes the bytes that it still needs of a chunk from `at` on, and returns their number. */
  fill(chunk: Uint8Array, at: number, end: number): number {
    const missing = this.#length - this.#filled;
    const taken = missing < end - at ? missing : end - at;
    if (taken === 0) return 0;
    this.#makeRoom(this.#filled + taken);
    copy(chunk, at, taken, new Bytes(this.#memory), this.#filled);
    this.#filled += taken;
    return taken;
  }

  /** Twice the room each time, and in the end exactly the length. */
  #makeRoom(needed: number): void {
    const old = new Bytes(this.#memory);
    const room = lengthOf(old);
    if (room >= needed) return;
    const wanted = room * 2 > needed ? room * 2 : needed;
    this.#memory = new Memory(wanted < this.#length ? wanted : this.#length);
    copy(old, 0, this.#filled, new Bytes(this.#memory), 0);
  }
}

function copy(source: Uint8Array, at: number, length: number, target: Uint8Array, to: number): void {
  const view = new Bytes(memoryOf(source), offsetOf(source) + at, length);
  setBytes(target, view, to);
}

function writeLength(head: Uint8Array, at: number, length: number): void {
  for (let byte = 0; byte < 4; byte++) head[at + byte] = (length >>> (8 * byte)) & 0xff;
}

function readLength(head: Uint8Array, at: number): number {
  let length = 0;
  for (let byte = 3; byte >= 0; byte--) length = length * 256 + (head[at + byte] ?? 0);
  return length;
}

/** A getter that typed arrays inherit. */
function getter(name: string): unknown {
  return Reflect.getOwnPropertyDescriptor(typedArray, name)?.get;
}
