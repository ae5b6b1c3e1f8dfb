/** Ids as callers see them: the row's key, so that no index is needed, and a tag that cannot be guessed. */
import { randomFillSync } from "node:crypto";
import { RUNS_PER_DELIVERY } from "./codes.ts";

/** Names one delivery; without the right tag the key alone opens nothing. */
export interface DeliveryKey {
  /** 1, 2, ... in order of acceptance. */
  readonly seq: number;
  /** 64 random bits, as 16 hexadecimal digits. */
  readonly tag: string;
}

export interface RunKey extends DeliveryKey {
  /** `seq * RUNS_PER_DELIVERY + index`. */
  readonly run: number;
}

const SEQ_DIGITS = 8;
/** The greatest seq whose runs still have exact keys. */
const MAX_SEQ = Math.floor(Number.MAX_SAFE_INTEGER / RUNS_PER_DELIVERY) - 1;
const TAG_DIGITS = 16;

/** `dlv_` + seq in base 36, padded so that ids sort as they were accepted, + tag. */
export function deliveryId(seq: number, tag: string): string {
  return `dlv_${seqDigits(seq)}${tag}`;
}

/** `run_` + the same + `_` + index within the delivery. */
export function runIds(seq: number, tag: string, count: number): string[] {
  const start = `run_${seqDigits(seq)}${tag}_`;
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push(`${start}${index}`);
  return ids;
}

export function runId(run: number, tag: string): string {
  return `run_${seqDigits(Math.floor(run / RUNS_PER_DELIVERY))}${tag}_${run % RUNS_PER_DELIVERY}`;
}

/** `undefined` for what was never an id. */
export function parseDeliveryId(id: string): DeliveryKey | undefined {
  const { seq, tag } = parseKey(id);
  // Only the one spelling that was given out counts; this refuses every other at once.
  return deliveryId(seq, tag) === id ? { seq, tag } : undefined;
}

/** `undefined` for what was never an id. */
export function parseRunId(id: string): RunKey | undefined {
  const { seq, tag } = parseKey(id);
  const index = Number(id.slice(5 + SEQ_DIGITS + TAG_DIGITS));
  if (!Number.isInteger(index) || index >= RUNS_PER_DELIVERY) return undefined;
  const run = seq * RUNS_PER_DELIVERY + index;
  return runId(run, tag) === id ? { seq, tag, run } : undefined;
}

/** Both kinds of id begin with four letters, the seq and the tag. */
function parseKey(id: string): DeliveryKey {
  const seq = parseSeq(id.slice(4, 4 + SEQ_DIGITS));
  return { seq: seq <= MAX_SEQ ? seq : 0, tag: id.slice(4 + SEQ_DIGITS, 4 + SEQ_DIGITS + TAG_DIGITS) };
}

/** The position after which a page continues: only rows below `seq` follow. */
export function cursorOf(seq: number): string {
  return `c${seqDigits(seq)}`;
}

/** `undefined` for what was never a cursor. */
export function parseCursor(cursor: string): number | undefined {
  if (!/^c[0-9a-z]{8}$/u.test(cursor)) return undefined;
  const seq = parseSeq(cursor.slice(1));
  return seq > 0 && seq <= MAX_SEQ ? seq : undefined;
}

function seqDigits(seq: number): string {
  return seq.toString(36).padStart(SEQ_DIGITS, "0");
}

function parseSeq(digits: string): number {
  return Number.parseInt(digits, 36);
}

const TAG_BYTES = 8;
const randomBytes = Buffer.alloc(TAG_BYTES * 512);
let usedBytes = randomBytes.length;

/** A fresh tag; random bytes are fetched many at a time, which costs a tenth. */
export function newTag(): string {
  if (usedBytes === randomBytes.length) {
    randomFillSync(randomBytes);
    usedBytes = 0;
  }
  usedBytes += TAG_BYTES;
  return randomBytes.toString("hex", usedBytes - TAG_BYTES, usedBytes);
}
