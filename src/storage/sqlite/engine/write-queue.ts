import { reasonOf } from "../../../core/reason-of.ts";
import { SqliteError } from "./errors.ts";
import type { WriteBatch } from "./group-commit.ts";
import type { CommittedReply } from "./writer-thread.ts";

/** Writes made ready for another thread. */
interface PackedArguments {
  readonly args: readonly unknown[];
  readonly transfer: ArrayBuffer[];
}

/**
 * Copies all bytes in the arguments into one buffer that is handed over instead of cloned.
 *
 * A cloned view takes its whole underlying buffer along, which for a Buffer is a slab shared with
 * strangers. Looks at each argument, at the items of an array and at the values of an object, not
 * deeper. The caller's arrays and objects are left as they are.
 */
export function packBytes(args: readonly unknown[]): PackedArguments {
  let total = 0;
  for (const value of args) total += bytesIn(value);
  if (total === 0) return { args, transfer: [] };
  const packer = new Packer(Buffer.allocUnsafeSlow(total));
  const packed: unknown[] = [];
  // Arrays made by map() count as sparse, and these are cloned item by item like objects.
  for (const value of args) packed.push(packer.replace(value));
  return { args: packed, transfer: [packer.buffer] };
}

function bytesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (value instanceof Uint8Array) return value.byteLength;
  let total = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) total += bytesOf(value[index]);
  } else {
    for (const item of Object.values(value)) total += bytesOf(item);
  }
  return total;
}

function bytesOf(value: unknown): number {
  return value instanceof Uint8Array ? value.byteLength : 0;
}

class Packer {
  readonly #target: Buffer<ArrayBuffer>;
  #offset = 0;

  constructor(target: Buffer<ArrayBuffer>) {
    this.#target = target;
  }

  get buffer(): ArrayBuffer {
    return this.#target.buffer;
  }

  replace(value: unknown): unknown {
    if (value instanceof Uint8Array) return this.#copy(value);
    if (bytesIn(value) === 0) return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(this.#copyIfBytes(item));
      return items;
    }
    return Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, this.#copyIfBytes(item)]));
  }

  #copyIfBytes(value: unknown): unknown {
    return value instanceof Uint8Array ? this.#copy(value) : value;
  }

  #copy(bytes: Uint8Array): Uint8Array {
    const offset = this.#offset;
    this.#target.set(bytes, offset);
    this.#offset += bytes.byteLength;
    return new Uint8Array(this.#target.buffer, offset, bytes.byteLength);
  }
}

/** Writes that may wait at once; more means that the disk has stopped. */
const MAX_WAITING = 65_536;
/** Answered callers at the front of the list that are worth moving the others for. */
const COMPACT_AT = 1024;

interface Caller {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

type Send = (batch: WriteBatch, transfer: readonly ArrayBuffer[]) => void;

/**
 * Gathers the writes of one turn of the event loop into one message, and gives every answer to the
 * caller it belongs to. Answers arrive the order of the writes, so there are no ids.
 */
export class WriteQueue {
  readonly #send: Send;
  #operations: string[] = [];
  #args: unknown[] = [];
  #callers: Caller[] = [];
  /** Callers before this position are answered. */
  #answered = 0;
  #onIdle: (() => void) | undefined;
  readonly #flush = () => this.flush();

  /** `send` throws when the batch cannot be handed over; its callers are then rejected. */
  constructor(send: Send) {
    this.#send = send;
  }

  push(operation: string, args: unknown): Promise<unknown> {
    if (this.#callers.length - this.#answered >= MAX_WAITING) {
      return Promise.reject(new SqliteError("UNAVAILABLE", `${MAX_WAITING} writes are waiting for the disk already.`));
    }
    if (this.#operations.length === 0) setImmediate(this.#flush);
    this.#operations.push(operation);
    this.#args.push(args);
    return new Promise((resolve, reject) => this.#callers.push({ resolve, reject }));
  }

  /** Hands over the queued writes without waiting for the end of the turn. */
  flush(): void {
    if (this.#operations.length === 0) return;
    const batch = { operations: this.#operations, args: this.#args };
    this.#operations = [];
    this.#args = [];
    try {
      this.#hand(batch);
    } catch {
      this.#handOneByOne(batch);
    }
  }

  settle(reply: CommittedReply): void {
    const first = this.#answered;
    const failed = new Map(reply.failures.map((failure) => [failure.index, failure]));
    for (let index = 0; index < reply.count; index++) {
      const caller = this.#callers[first + index]!;
      const failure = failed.get(index);
      if (failure === undefined) caller.resolve(reply.results?.[index]);
      else caller.reject(new SqliteError(failure.code, failure.message));
    }
    this.#forget(reply.count);
  }

  /** Rejects everything that was handed over and not answered. */
  rejectSent(error: Error): void {
    const count = this.#callers.length - this.#answered - this.#operations.length;
    for (let index = 0; index < count; index++) this.#callers[this.#answered + index]!.reject(error);
    this.#forget(count);
  }

  /** Resolves when every write has its answer; writes pushed meanwhile count too. */
  idle(): Promise<void> {
    if (this.#callers.length === this.#answered) return Promise.resolve();
    return new Promise((resolve) => (this.#onIdle = resolve));
  }

  /** One caller's arguments may be impossible to clone; the other writes continue. */
  #handOneByOne(batch: WriteBatch): void {
    const callers = this.#callers.splice(this.#callers.length - batch.operations.length);
    for (const [index, caller] of callers.entries()) {
      try {
        this.#hand({ operations: [batch.operations[index]!], args: [batch.args[index]] });
        this.#callers.push(caller);
      } catch (error) {
        caller.reject(asSqliteError(error));
      }
    }
    this.#forget(0);
  }

  #hand(batch: WriteBatch): void {
    const { args, transfer } = packBytes(batch.args);
    this.#send({ operations: batch.operations, args }, transfer);
  }

  #forget(count: number): void {
    this.#answered += count;
    if (this.#answered === this.#callers.length) {
      this.#callers = [];
      this.#answered = 0;
      this.#onIdle?.();
    } else if (this.#answered >= COMPACT_AT && this.#answered * 2 > this.#callers.length) {
      this.#callers = this.#callers.slice(this.#answered);
      this.#answered = 0;
    }
  }
}

function asSqliteError(error: unknown): SqliteError {
  if (error instanceof SqliteError) return error;
  const reason = reasonOf(error);
  return new SqliteError("FAILED", `The arguments cannot be handed to the writer thread: ${reason}`, { cause: error });
}
