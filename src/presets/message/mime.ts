import { parse } from "content-type";
import { type Mail, type MailFile, mailHeaders } from "./mail.ts";

/** A mail read from its source (RFC 5322, RFC 2045): its own headers, its first text and HTML, and its attachments. */
export interface MimeMail {
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly html: string;
  readonly files: readonly MailFile[];
}

const MAX_BYTES = 1_048_576;
const MAX_PARTS = 100;
const MAX_DEPTH = 8;

/** Reads the source of a mail; of at most 1 MiB, 100 parts in 8 levels. Never throws: what cannot be read is left out. */
export function readMime(source: Buffer): MimeMail {
  const found = { text: "", html: "", files: [] as MailFile[], parts: 0 };
  const entity = splitEntity(source.subarray(0, MAX_BYTES).toString("latin1"));
  readEntity(entity, found, 0);
  return { headers: entity.headers, text: found.text, html: found.html, files: found.files };
}

/** The parts of a {@link Mail} that its own headers hold. */
export function fromHeaders(
  headers: ReadonlyMap<string, string>,
): Pick<Mail, "cc" | "replyTo" | "date" | "messageId" | "inReplyTo" | "references"> & { from: string; to: string } {
  const at = (name: string): string => decodeWords(headers.get(name) ?? "");
  return {
    from: at("from"),
    to: at("to"),
    cc: at("cc"),
    replyTo: at("reply-to"),
    date: at("date"),
    messageId: at("message-id"),
    inReplyTo: at("in-reply-to"),
    references: at("references"),
  };
}

/** The headers of a block of lines, with those that continue on further lines. */
export function headerLines(block: string): ReadonlyMap<string, string> {
  const lines = block.replaceAll(/\r?\n[ \t]+/gu, " ").split(/\r?\n/u);
  return mailHeaders(
    lines.flatMap((line): [string, string][] => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
    }),
  );
}

const WORD = /=\?([\w-]{1,40})(?:\*[\w-]*)?\?([bq])\?([^?\s]*)\?=/giu;

/** Encoded words (RFC 2047) as what they say; other text as it is. */
export function decodeWords(text: string): string {
  return text.replaceAll(/\?=\s+=\?/gu, "?==?").replaceAll(WORD, (_, charset: string, kind: string, word: string) => {
    const bytes = kind.toLowerCase() === "b" ? Buffer.from(word, "base64") : quotedBytes(word.replaceAll("_", " "));
    return decodeText(bytes, charset);
  });
}

/** The text of bytes in a charset; in UTF-8 when the charset is unknown, or one character for each byte. */
export function decodeText(bytes: Buffer, charset: string): string {
  for (const label of [charset, "utf-8"]) {
    try {
      return new TextDecoder(label, { fatal: true }).decode(bytes);
    } catch {
      // Unknown, or other bytes than it says.
    }
  }
  return bytes.toString("latin1");
}

interface Entity {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

function splitEntity(source: string): Entity {
  const end = /\r?\n\r?\n/u.exec(source);
  if (end === null) return { headers: headerLines(source), body: "" };
  return { headers: headerLines(source.slice(0, end.index)), body: source.slice(end.index + end[0].length) };
}

interface Found {
  text: string;
  html: string;
  readonly files: MailFile[];
  parts: number;
}

function readEntity({ headers, body }: Entity, found: Found, depth: number): void {
  if (++found.parts > MAX_PARTS || depth > MAX_DEPTH) return;
  const { type, parameters } = parse(headers.get("content-type") ?? "text/plain");
  const boundary = parameters["boundary"];
  if (type.startsWith("multipart/") && boundary !== undefined) {
    for (const part of splitParts(body, boundary)) readEntity(splitEntity(part), found, depth + 1);
    return;
  }
  const disposition = parse(headers.get("content-disposition") ?? "");
  const name = disposition.parameters["filename"] ?? parameters["name"];
  const bytes = decodeBody(body, headers.get("content-transfer-encoding"));
  const isText = disposition.type !== "attachment" && name === undefined;
  if (isText && type === "text/plain") found.text ||= decodeText(bytes, parameters["charset"] ?? "utf-8");
  else if (isText && type === "text/html") found.html ||= decodeText(bytes, parameters["charset"] ?? "utf-8");
  else found.files.push({ name: decodeWords(name ?? ""), type, size: bytes.length });
}

function splitParts(body: string, boundary: string): readonly string[] {
  const delimiter = `\n--${boundary}`;
  const parts: string[] = [];
  for (const piece of `\n${body}`.split(delimiter, MAX_PARTS + 1).slice(1)) {
    if (piece.startsWith("--")) break;
    const last = parts.length - 1;
    // The boundary of an inner form may begin with that of the outer one.
    if (/^[ \t]*\r?\n/u.test(piece)) parts.push(piece.slice(piece.indexOf("\n") + 1));
    else if (last >= 0) parts[last] += delimiter + piece;
  }
  return parts;
}

function decodeBody(body: string, encoding = ""): Buffer {
  switch (encoding.toLowerCase()) {
    case "base64":
      return Buffer.from(body, "base64");
    case "quoted-printable":
      return quotedBytes(body.replaceAll(/=[ \t]*\r?\n/gu, ""));
    default:
      return Buffer.from(body, "latin1");
  }
}

function quotedBytes(text: string): Buffer {
  const decoded = text.replaceAll(/=([0-9a-f]{2})/giu, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, "latin1");
}
