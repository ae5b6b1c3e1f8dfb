import { withoutHiddenElements } from "../../core/boundary/hidden-elements.ts";
import { clip, itemLines, joinText, labeled, textAt, valueAt } from "../../core/payload-text.ts";
import { eventActor } from "../event-fields.ts";
import type { EventActor } from "../preset.ts";
import { oneLine } from "./headline.ts";
import { plainText } from "./value-text.ts";

/** An attachment, without its bytes. */
export interface MailFile {
  readonly name: string;
  readonly type: string;
  /** In bytes; `undefined` when the sender does not give it. */
  readonly size: number | undefined;
}

/** A received mail as a preset reads it; what its sender does not give is absent or empty. */
export interface Mail {
  readonly from: string;
  readonly to?: string;
  readonly cc?: string;
  readonly replyTo?: string;
  readonly subject: string;
  readonly date?: string;
  readonly messageId?: string;
  readonly inReplyTo?: string;
  readonly references?: string;
  /** The results of the receiving service: `SPF pass`, `DKIM fail`. */
  readonly verdicts?: readonly string[];
  readonly files?: readonly MailFile[];
  /** Without the quoted history when the sender separates it. */
  readonly text?: string;
  /** Read only when there is no text. */
  readonly html?: string;
}

const MAX_TEXT = 12_000;
const MAX_LIST = 1_000;

/** A mail as an agent reads it: the headers that it needs for a reply, the attachments, then the text. */
export function mailLines(mail: Mail): readonly string[] {
  const from = oneLine(mail.from);
  return [
    joinText(": ", from === "" ? "New mail" : `New mail from ${from}`, oneLine(mail.subject)),
    labeled("To", list(mail.to)),
    labeled("Cc", list(mail.cc)),
    labeled("Reply to", list(mail.replyTo)),
    labeled("Date", oneLine(mail.date ?? "")),
    labeled("Message id", oneLine(mail.messageId ?? "")),
    labeled("In reply to", oneLine(mail.inReplyTo ?? "")),
    labeled("References", list(mail.references)),
    labeled("Checks", joinText(", ", ...(mail.verdicts ?? []))),
    ...itemLines(mail.files ?? [], (file) => labeled("Attachment", fileText(file as MailFile))),
    mailText(mail.text ?? "") || mailText(htmlText(mail.html ?? "")),
  ].filter((line) => line !== "");
}

function list(text = ""): string {
  return clip(text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), MAX_LIST);
}

function fileText({ name, type, size }: MailFile): string {
  const about = joinText(", ", oneLine(type), size === undefined ? "" : `${size} bytes`);
  return joinText(" ", oneLine(name) || "without a name", about === "" ? "" : `(${about})`);
}

function mailText(text: string): string {
  const lines = clip(text, MAX_TEXT).split(/\r?\n/u);
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
}

/** More of a mail's HTML is never read: its text is cut to less. */
const MAX_HTML = 50_000;

/** The text that an HTML mail shows; linear in its length, which strangers choose. */
function htmlText(html: string): string {
  return plainText(withoutHiddenElements(html.slice(0, MAX_HTML), { document: true }).replaceAll(/\s+/gu, " "));
}

/** The whole text under the first of the paths where there is one, which `textAt` would cut at 4,000 characters. */
export function mailTextAt(payload: unknown, ...paths: readonly string[]): string {
  for (const path of paths) {
    const text = valueAt(payload, path);
    if (typeof text === "string" && text.trim() !== "") return text;
  }
  return "";
}

/** A size in bytes, when there is one. */
export function sizeAt(payload: unknown, path: string): number | undefined {
  const size = valueAt(payload, path);
  return typeof size === "number" && Number.isSafeInteger(size) && size >= 0 ? size : undefined;
}

const MAX_HEADERS = 500;

/** The pairs of a list `[[name, value], ...]` or of an object; what is neither a text nor a name is left out. */
export function headerPairs(headers: unknown): readonly (readonly [string, string])[] {
  if (typeof headers !== "object" || headers === null) return [];
  const pairs: readonly unknown[] = Array.isArray(headers) ? headers : Object.entries(headers);
  return pairs.slice(0, MAX_HEADERS).filter(isPair);
}

function isPair(pair: unknown): pair is readonly [string, string] {
  return Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "string";
}

/** The files of a form in parts. */
export function formFiles(payload: unknown): readonly MailFile[] {
  if (typeof payload !== "object" || payload === null) return [];
  return Object.values(payload)
    .flat()
    .filter((value) => typeof valueAt(value, "filename") === "string")
    .map((file) => ({ name: textAt(file, "filename"), type: textAt(file, "type"), size: sizeAt(file, "size") }));
}

/** The headers of a mail by lower-case name. The first of a name wins: services put their own above the sender's. */
export function mailHeaders(pairs: Iterable<readonly [name: string, value: string]>): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of pairs) {
    const key = name.trim().toLowerCase();
    if (headers.size < MAX_HEADERS && !headers.has(key)) headers.set(key, value.trim());
  }
  return headers;
}

const ADDRESS = /^([^<>]*)<([^<>\s]+)>$/u;

const SINGLE_ADDRESS = /^[^\s@<>,;:"()]{1,64}@[a-z0-9.-]{1,190}$/iu;

/** The address of a `From` with one author, without encoded words; empty for anything else. */
export function singleAddress(from: string): string {
  const [, , address = from.trim()] = ADDRESS.exec(from.trim()) ?? [];
  return SINGLE_ADDRESS.test(address) ? address : "";
}

/** The author of a mail, whose address counts only where a signature of its domain was found good. */
export function provenMailActor(
  from: string,
  { autoSubmitted, isProven }: { readonly autoSubmitted: string | undefined; readonly isProven: boolean },
): EventActor | undefined {
  const actor = mailActor(from, autoSubmitted);
  if (actor === undefined) return undefined;
  return isProven ? { ...actor, id: singleAddress(from), role: "verified" } : { ...actor, unproven: true };
}

/**
 * The author of a mail: the name with the address as its id. Anyone can write any `From`. An automatic
 * reply (RFC 3834) counts as a bot's, so that two answering machines do not keep each other awake.
 */
export function mailActor(from: string, autoSubmitted = ""): EventActor | undefined {
  const author = oneLine(from);
  const [, name = "", address = author] = ADDRESS.exec(author) ?? [];
  const isReply = /^auto-replied\b/iu.test(autoSubmitted.trim());
  return eventActor(name.replaceAll('"', "").trim() || address, address, isReply);
}
