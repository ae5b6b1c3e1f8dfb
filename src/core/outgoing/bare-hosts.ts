/** Hosts without a scheme that chats make a link of. */

/**
 * What a host may be part of; a sentence of many points ends it. It goes on as far as it can and is cut to the host
 * afterwards: an expression that looks for labels takes too long on a text of labels alone.
 */
const RUN = /[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}_-]|\.(?!\.))*/gu;
/** Marks of markdown and points that may stand around a host. */
const AROUND = "_-.";
/** What comes before a part of a path of files or of a mail address. */
const BEFORE_PARTS = "@/\\";
const TOP = /^(?:[\p{L}\p{M}]{2,24}|xn--[a-z\d-]{1,59})$/iu;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/u;
const PATH = /(?::\d{1,5})?[/?][^\s<]/uy;
/** The length of the prefix of a network, with what ends a sentence: too short to be a path that carries something. */
const PREFIX_LENGTH = /\/\d{1,2}[.,;:!?)\]}"'`|]{0,2}(?:\s|$)/uy;
/** Endings of hosts that hardly any file has. */
const ENDING = /\.(?:com|net|org|info|biz|online|site|xyz|top|click|link)(?:\.|$)/iu;
const WWW = /^www\.[^.]+\./iu;

/** Where such hosts begin: those with a path or a query, and those with a usual ending. */
export function* findBareHosts(text: string): Generator<number> {
  for (const { index, 0: run } of text.matchAll(RUN)) {
    let length = run.length;
    while (AROUND.includes(run[length - 1]!)) length--;
    const name = run.slice(0, length);
    if (name.includes(".") && !isPart(text, index) && isHost(name, text, index + run.length)) yield index;
  }
}

function isPart(text: string, index: number): boolean {
  let before = index - 1;
  while (before >= 0 && AROUND.includes(text[before]!)) before--;
  return before >= 0 && BEFORE_PARTS.includes(text[before]!);
}

function isHost(name: string, text: string, end: number): boolean {
  if (ENDING.test(name) || WWW.test(name)) return true;
  if (!startsAt(PATH, text, end)) return false;
  return TOP.test(name.slice(name.lastIndexOf(".") + 1)) || (IPV4.test(name) && !startsAt(PREFIX_LENGTH, text, end));
}

function startsAt(pattern: RegExp, text: string, index: number): boolean {
  pattern.lastIndex = index;
  return pattern.test(text);
}
