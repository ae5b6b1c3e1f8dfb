/** The addresses in a text that a reader's program could open, fetch for a preview, or show as an image. */
import { readForm, readListed, SCHEME_IN_FORM, SCHEMES, SLASHES_IN_FORM, type AddressForm } from "./address-form.ts";
import { findBareHosts } from "./bare-hosts.ts";
import { decodeReferences } from "./secret-index.ts";
import { readingsWithoutTags } from "./without-tags.ts";

/** An address, and its host in the form in which hosts are compared. */
export interface FoundLink {
  /** As plain text has it; empty for one that is too long to be compared. */
  readonly url: string;
  /** All that a program could take for the address where it stands; empty where that is not certain, or too long. */
  readonly whole: string;
  /** In lower case, without port and user; empty where it is not certain which one a program would take. */
  readonly host: string;
}

/** Links of one text that are found; from there on it has more than anyone reads. */
export const MAX_LINKS = 1_000;
const MAX_URL = 8_000;
/** So many addresses may share a part of a text. */
const OVERLAP = 4;

const START = new RegExp(
  // Where markdown and HTML have an address, it may also have no slashes, or leave the scheme to the page.
  [String.raw`${SCHEMES}[\\/]{1,4}(?=[^\s<])`, SCHEME_IN_FORM, SLASHES_IN_FORM].join("|"),
  "giu",
);
/** An address in a list of images begins behind a comma. */
const IMAGE_SET = /srcset\s*=\s*(?:"[^"]*|'[^']*)/giu;
const LISTED = new RegExp(String.raw`(?=[\\/]{2}[^\s<]|${SCHEMES}[^\s\\/])(?<=,\s*)`, "giu");
const END = /[\s<]|$/gu;
/** What ends a sentence, a quotation or a bracket of markdown belongs to no address. */
const TRAILING: ReadonlySet<string> = new Set(")]}>.,;:!?*_~|\"'`");
/** As much of that as stands behind an address in a sentence; more could be data, for a program that takes it along. */
const CLOSING = /^(?:(?:[)\]}>|"'`]|\*\*?|__?|~~)?[.,;:!?]?|[.,;:!?](?:[)\]}>|"'`]|\*\*?|__?|~~))$/u;

/** The same behind an address that a quote opens, as in source code and JSON. */
const QUOTED_CLOSING = /^["'`][)\]}]{0,2}[.,;:!?]?$/u;
const MAX_CLOSING = 4;

/** Finds the addresses of a text, also those that markdown or HTML write with escapes or references. */
export function findLinks(text: string): readonly FoundLink[] {
  const found = new Map<string, FoundLink>();
  for (const { reading, joined } of readingsOf(text)) {
    const links = collect(reading, joined);
    // Also those that are the same count: what follows was not read.
    if (links.length >= MAX_LINKS) return links;
    for (const link of links) found.set(`${link.host} ${link.url} ${link.whole}`, link);
  }
  return [...found.values()].slice(0, MAX_LINKS);
}

interface Reading {
  readonly reading: string;
  /** Without line ends: addresses in quotes alone are what they were. */
  readonly joined: boolean;
}

/** What browsers drop from an address, or from its begin, and what does not end a value without quotes. */
const DROPPED = /&(?:#0*(?:\d|[12]\d|3[01])(?!\d);?|#x0*1?[\da-f](?![\da-f]);?|tab;|newline;)|(?![\t\n\r])\p{Cc}/giu;

/** The same text as programs read it that know quotations of markdown, escapes and references, or take marks or tags out. */
function readingsOf(text: string): Reading[] {
  const unquoted = text.replaceAll(/^[ \t>]*>[ \t]?/gmu, "");
  const plain = plainOf(unquoted.replaceAll(DROPPED, ""));
  const marked = [...new Set([plainOf(unquoted), plain])].flatMap((each) => [each, ...readingsWithoutTags(each)]);
  const readings = new Set([text, unquoted, ...marked, ...marked.map((each) => each.replaceAll(/[*`~]+/gu, ""))]);
  // Browsers drop these from addresses.
  const joined = plain.replaceAll(/[\t\r\n]+/gu, "");
  return [
    ...Array.from(readings, (reading) => ({ reading, joined: false })),
    ...(joined === plain ? [] : [{ reading: joined, joined: true }]),
  ];
}

function plainOf(text: string): string {
  return decodeReferences(text).replaceAll(/\\(?=[!-/:-@[-`{-~])/gu, "");
}

function collect(text: string, joined: boolean): FoundLink[] {
  const found: FoundLink[] = [];
  const addressAt = addressReader(text);
  for (const start of startsOf(text, joined)) {
    const link = addressAt(start, joined);
    if (link !== undefined) found.push(link);
    if (found.length >= MAX_LINKS) break;
  }
  return found;
}

/** Where an address begins; in a list of images, also where that ends. */
interface Start {
  readonly index: number;
  readonly listEnd?: number | undefined;
}

function* startsOf(text: string, joined: boolean): Generator<Start> {
  // White space ends an address in a list of images, so that it is none where it was left out.
  const sets = joined ? [] : Array.from(text.matchAll(IMAGE_SET), ({ index, 0: set }) => ({ index, set }));
  let at = 0;
  for (const { index } of text.matchAll(START)) {
    while (at < sets.length && endOfSet(sets[at]!) <= index) at++;
    const set = sets[at];
    yield { index, listEnd: set !== undefined && set.index <= index ? endOfSet(set) : undefined };
  }
  if (joined) return;
  for (const found of sets) {
    for (const { index } of found.set.matchAll(LISTED)) {
      yield { index: found.index + index, listEnd: endOfSet(found) };
    }
  }
  for (const index of findBareHosts(text)) yield { index };
}

function endOfSet({ index, set }: { readonly index: number; readonly set: string }): number {
  return index + set.length;
}

/** An address goes on to the next white space, as in what makes links of plain text; another may begin inside of it. */
function addressReader(text: string): (start: Start, quotedOnly: boolean) => FoundLink | undefined {
  // Of the run without white space that was read last. Addresses in one run share it: read for each of them, it would
  // take a time that grows with the square of its length.
  let begin = 0;
  let end = 0;
  let last = 0;
  let closed = false;
  let quote: string | undefined;
  // Characters that are still read for addresses in one run, and in forms: only a text that is made for it has more.
  let ofRun = 0;
  let ofForms = OVERLAP * text.length;
  return ({ index, listEnd }, quotedOnly) => {
    const maxRead = Math.min(MAX_URL + 1, Math.max(ofForms, MAX_AUTHORITY + 1));
    const form = listEnd === undefined ? readForm(text, index, maxRead) : readListed(text, index, { maxRead, listEnd });
    ofForms -= form?.read ?? 0;
    if (quotedOnly && form?.quoted !== true) return undefined;
    if (index < begin || index >= end) {
      begin = index;
      END.lastIndex = index;
      end = END.exec(text)!.index;
      last = end;
      while (TRAILING.has(text[last - 1]!)) last--;
      ofRun = OVERLAP * (end - begin);
      const behind = end - last <= MAX_CLOSING ? text.slice(last, end) : undefined;
      closed = behind !== undefined && CLOSING.test(behind);
      quote = behind !== undefined && QUOTED_CLOSING.test(behind) ? behind[0] : undefined;
    }
    const length = last - index;
    const url = length > Math.min(MAX_URL, ofRun) ? "" : text.slice(index, last);
    ofRun -= url.length;
    if (form !== undefined) return { url, whole: wholeOf(form), host: hostOf(form.text) };
    const isWhole = closed || (quote !== undefined && text[index - 1] === quote);
    return { url, whole: isWhole ? url : "", host: hostOf(text.slice(index, Math.min(last, index + MAX_URL))) };
  };
}

function wholeOf({ text, complete, loose }: AddressForm): string {
  if (!complete) return "";
  if (!loose) return text;
  let last = text.length;
  while (TRAILING.has(text[last - 1]!)) last--;
  return CLOSING.test(text.slice(last)) ? text.slice(0, last) : "";
}

const SCHEME = new RegExp(`^${SCHEMES}`, "iu");
const AUTHORITY = /^[^/?#\\]*/u;
/** The longest that is read for a host: names have 253 characters, and a user may come before one. */
const MAX_AUTHORITY = 300;
const HOST = /^(?:\[[\da-f:.]+\]|[\p{L}\p{M}\p{N}._%\-\u3002\uFF0E\uFF61]+)/iu;
const PORT = /^:\d{1,5}/u;
/** More of a host, as some programs take it, behind a character that others end it with. */
const MORE = /^[^\s<]*?[.\u3002\uFF0E\uFF61][\p{L}\p{N}]/u;

function hostOf(url: string): string {
  const rest = url.replace(SCHEME, "").replace(/^[\\/]+/u, "");
  const [authority = ""] = AUTHORITY.exec(rest.slice(0, MAX_AUTHORITY + 1)) ?? [];
  if (authority.length > MAX_AUTHORITY) return "";
  const named = authority.slice(authority.lastIndexOf("@") + 1);
  const [host = ""] = HOST.exec(named) ?? [];
  const behind = named.slice(host.length).replace(PORT, "");
  if (MORE.test(behind)) return "";
  return (URL.parse(`https://${host}`)?.hostname ?? "").replace(/\.$/u, "");
}
