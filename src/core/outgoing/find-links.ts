/** The addresses in a text that a reader's program could open, fetch for a preview, or show as an image. */
import { decodeReferences } from "./secret-index.ts";

/** An address, and its host in the form in which hosts are compared. */
export interface FoundLink {
  /** Empty for one that is too long to be compared. */
  readonly url: string;
  /** In lower case, without port and user; empty where it is not certain which one a program would take. */
  readonly host: string;
}

/** Links of one text that are found; from there on it has more than anyone reads. */
export const MAX_LINKS = 1_000;
const MAX_URL = 8_000;

const LABEL = String.raw`[\p{L}\p{N}][\p{L}\p{N}-]{0,62}\.`;
/** No part of a path of files or of a mail address, as far as ASCII goes. */
const ALONE = String.raw`(?<![\w@./\\-])`;
/** Endings of hosts that hardly any file has. */
const ENDINGS = "com|net|org|info|biz|online|site|xyz|top|click|link";
const STARTS = [
  // With a scheme that is fetched over the network; browsers take slashes that are turned or missing.
  String.raw`(?:https?|ftps?|wss?):[\\/]{1,4}(?=[^\s<])`,
  // Where markdown and HTML have an address, which may leave the scheme to the page.
  String.raw`(?<=\]\(\s{0,9}<?|\]:\s{0,9}<?|=\s{0,9}["']?|url\(\s{0,9}["']?)[\\/]{2}(?=[^\s<])`,
  // What chats make a link of: a bare host with a path or a query, or with a usual ending.
  String.raw`${ALONE}(?:${LABEL}){1,10}\p{L}{2,24}(?::\d{1,5})?(?=[/?][^\s<])`,
  String.raw`${ALONE}(?:www\.${LABEL}|(?:${LABEL}){1,10}(?=(?:${ENDINGS})(?![\w-])))`,
].join("|");
const START = new RegExp(STARTS, "giu");
const END = /[\s<]|$/gu;
/** What ends a sentence, a quotation or a bracket of markdown belongs to no address. */
const TRAILING: ReadonlySet<string> = new Set(")]}>.,;:!?*_~|\"'`");

/** Finds the addresses of a text, also those that markdown or HTML write with escapes or references. */
export function findLinks(text: string): readonly FoundLink[] {
  const found = new Map<string, FoundLink>();
  const plain = decodeReferences(text).replaceAll(/\\(?=[!-/:-@[-`{-~])/gu, "");
  for (const reading of plain === text ? [text] : [text, plain]) collect(reading, found);
  return [...found.values()];
}

/** An address goes on to the next white space, as in what makes links of plain text; another may begin inside of it. */
function collect(text: string, found: Map<string, FoundLink>): void {
  let end = -1;
  for (const { index, 0: start } of text.matchAll(START)) {
    if (index + start.length > end) {
      END.lastIndex = index + start.length;
      end = END.exec(text)!.index;
    }
    let last = end;
    while (TRAILING.has(text[last - 1]!)) last--;
    const host = hostOf(text.slice(index, Math.min(last, index + MAX_URL)));
    const url = last - index > MAX_URL ? "" : text.slice(index, last);
    found.set(url || host, { url, host });
    if (found.size >= MAX_LINKS) return;
  }
}

const AUTHORITY = /^[^/?#\\]*/u;
const HOST = /^(?:\[[\da-f:.]+\]|[\p{L}\p{M}\p{N}._%\-\u3002\uFF0E\uFF61]+)/iu;
const PORT = /^:\d{1,5}/u;
/** More of a host, as some programs take it, behind a character that others end it with. */
const MORE = /[.\u3002\uFF0E\uFF61][\p{L}\p{N}]/u;

function hostOf(url: string): string {
  const rest = url.replace(/^[a-z]+:(?=[\\/])/iu, "").replace(/^[\\/]+/u, "");
  const [authority = ""] = AUTHORITY.exec(rest) ?? [];
  const named = authority.slice(authority.lastIndexOf("@") + 1);
  const [host = ""] = HOST.exec(named) ?? [];
  const behind = named.slice(host.length).replace(PORT, "");
  if (MORE.test(behind)) return "";
  return (URL.parse(`https://${host}`)?.hostname ?? "").replace(/\.$/u, "");
}
