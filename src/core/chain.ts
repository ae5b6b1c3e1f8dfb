/** Events that runs of this gateway caused, and the mark by which it knows them again. */
import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { type Level, LEVELS } from "./level.ts";

/** An event's place behind the event that began it all. */
export interface Chain {
  /** The first delivery. */
  readonly id: string;
  /** 1 for an event that a run of the first delivery caused. */
  readonly depth: number;
}

/** What a mark says: the chain, how deep the run was in it, and the level of the least trusted of those before. */
export interface ChainMark extends Chain {
  readonly level: Level;
}

/** Header of requests and mails that carry a mark. */
export const CHAIN_HEADER = "reveille-chain";
const MARK = /reveille-chain\.(dlv_[0-9a-z]{24})\.(\d{1,3})\.(\d)\.([0-9a-f]{32})/gu;
/** Marks of one text that are looked at. */
const MAX_MARKS = 100;

/**
 * Writes the mark of what a run leaves: letters, digits, dots, `-` and `_` alone, so that no format has to escape it.
 * The gateway's key signs it, and so no one else can make one; whoever copies one only joins the chain.
 */
export function writeMark(key: KeyObject, { id, depth, level }: ChainMark): string {
  const content = `${id}.${depth}.${LEVELS.indexOf(level)}`;
  return `${CHAIN_HEADER}.${content}.${macOf(key, content)}`;
}

/** A mark as a line of HTML or markdown, which no one sees. */
export function markComment(mark: string): string {
  return `<!-- ${mark} -->`;
}

/** The deepest mark of this gateway in a text; with those of other gateways and forged ones nothing is done. */
export function readMark(key: KeyObject, text: string): ChainMark | undefined {
  let deepest: ChainMark | undefined;
  let looked = 0;
  for (const [, id = "", depth = "", level = "", mac = ""] of text.matchAll(MARK)) {
    if (++looked > MAX_MARKS) break;
    const known = LEVELS[Number(level)];
    if (known === undefined || !isSame(mac, macOf(key, `${id}.${depth}.${level}`))) continue;
    if (deepest === undefined || Number(depth) > deepest.depth) deepest = { id, depth: Number(depth), level: known };
  }
  return deepest;
}

function macOf(key: KeyObject, content: string): string {
  return createHmac("sha256", key).update(`chain ${content}`).digest("hex").slice(0, 32);
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
