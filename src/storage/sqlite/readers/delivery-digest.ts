/**
 * The digest of a block of deliveries: a set of bits that says what a search cannot find in the block.
 *
 * Each word that a filter may ask for sets four bits, and each four characters of a text one. A search passes over a block
 * in which one of its bits is missing. Where all are set the rows are read, so that a digest never decides what is
 * found.
 */
import { LEVELS } from "../../../core/delivery.ts";
import type { DeliveryQuery } from "../../delivery-store.ts";

/** Deliveries of a block, by their seq. */
export const BLOCK = 256;
/** Characters of a text that set a bit together. */
const GRAM = 4;
const BITS_LOG = 19;
const MAX_BITS = 1 << BITS_LOG;
const MIN_BYTES = 64;
/** A digest is halved while fewer than this share of its bits would be set. */
const MAX_FILL = 1 / 4;

/** Positions of what a filter asks for; a digest with fewer bits takes their lower ones. */
export interface DigestQuery {
  /** All of them are set where the filter finds something. */
  readonly all: readonly number[];
  /** The ways to write one name, of one of which all are set. */
  readonly any: readonly (readonly number[])[];
  readonly receivedFrom: number;
  readonly receivedBefore: number;
}

/** What the digest knows of a filter; `undefined` when it knows nothing that the filter asks for. */
export function digestQuery(query: DeliveryQuery): DigestQuery | undefined {
  const { route, actor, level, text, receivedFrom = -Infinity, receivedBefore = Infinity } = query;
  const all: number[] = [];
  if (route !== undefined) all.push(...wordBits("route", route));
  if (level !== undefined) all.push(...wordBits("level", level));
  if (text !== undefined) addTextBits(text, (bit) => all.push(bit));
  const ways = actor === undefined ? [] : [actor, actor.toLowerCase(), actor.toUpperCase()];
  const names = [...new Set(ways.map(lowerAscii))];
  const any = names.length > 1 ? names.map((name) => wordBits("actor", name)) : [];
  if (names.length === 1) all.push(...wordBits("actor", names[0]!));
  const isTimed = receivedFrom > -Infinity || receivedBefore < Infinity;
  return all.length + any.length === 0 && !isTimed ? undefined : { all, any, receivedFrom, receivedBefore };
}

/** False only when the filter finds nothing in the block. */
export function mayFind({ all, any }: DigestQuery, bits: Uint8Array): boolean {
  const mask = bits.length * 8 - 1;
  const isSet = (bit: number) => (bits[(bit & mask) >> 3]! & (1 << (bit & 7))) !== 0;
  return all.every(isSet) && (any.length === 0 || any.some((way) => way.every(isSet)));
}

/** A delivery as a list can find it. */
export interface DigestedDelivery {
  readonly route: string;
  readonly actor: string | null;
  /** The place in `LEVELS`. */
  readonly level: number | null;
  readonly texts: readonly (string | null)[];
}

/** Collects the bits of one block. */
export class DigestBits {
  readonly #bits = new Uint8Array(MAX_BITS / 8);
  readonly #set = (bit: number): void => {
    this.#bits[bit >> 3]! |= 1 << (bit & 7);
  };

  add({ route, actor, level, texts }: DigestedDelivery): void {
    const words = [...wordBits("route", route)];
    if (actor !== null) words.push(...wordBits("actor", lowerAscii(actor)));
    if (level !== null) words.push(...wordBits("level", LEVELS[level]!));
    for (const bit of words) this.#set(bit);
    this.addTexts(...texts);
  }

  addTexts(...texts: readonly (string | null)[]): void {
    for (const text of texts) if (text !== null) addTextBits(text, this.#set);
  }

  /** In as few bytes as tell something; the number of bits is a power of two. */
  finish(): Uint8Array {
    let bits: Uint8Array = this.#bits;
    for (;;) {
      const half = bits.length / 2;
      if (half < MIN_BYTES) return bits;
      const folded = new Uint8Array(half);
      let count = 0;
      for (let at = 0; at < half; at++) {
        folded[at] = bits[at]! | bits[at + half]!;
        count += ONES[folded[at]!]!;
      }
      if (count > half * 8 * MAX_FILL) return bits;
      bits = folded;
    }
  }
}

/** The digest of a block that a search must always read. */
export const FULL_DIGEST: Uint8Array = new Uint8Array([255]);

/** The bytes in which a bit is set, by the bit. */
export const BYTES_WITH_BIT: readonly Uint8Array[] = Array.from({ length: 8 }, (_, bit) =>
  Uint8Array.from({ length: 256 }, (_byte, byte) => byte).filter((byte) => (byte & (1 << bit)) !== 0),
);
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

/** Names the kind too, so that a route is not taken for an actor. */
function wordBits(kind: string, word: string): number[] {
  let hash = 0x81_1c_9d_c5;
  for (const part of [kind, word]) {
    for (let at = 0; at < part.length; at++) hash = Math.imul(hash ^ part.charCodeAt(at), 0x01_00_01_93);
    hash = Math.imul(hash ^ 0xff, 0x01_00_01_93);
  }
  return [1, 2, 3, 4].map((nth) => mix(Math.imul(hash, 2 * nth + 1) ^ nth));
}

/** Four characters are four bytes of a number; of a character beyond Latin-1, what does not fit blends in. */
function addTextBits(text: string, add: (bit: number) => void): void {
  for (let at = 0, gram = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    gram = (gram << 8) ^ (code >= 65 && code <= 90 ? code + 32 : code);
    if (at >= GRAM - 1) add(mix(gram));
  }
}

function mix(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x9e_37_79_b1) >>> (32 - BITS_LOG);
}

/** As SQLite compares: it knows the case of ASCII letters alone. */
function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}
