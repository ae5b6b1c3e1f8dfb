import { isUtf8 } from "node:buffer";
import { parse } from "content-type";

/** A file of a form: its bytes stay in the stored request. */
export interface FormFile {
  readonly filename: string;
  readonly type: string;
  /** In bytes. */
  readonly size: number;
}

/** By field name; a list where the form repeats a name. */
export type FormFields = Record<string, string | FormFile | (string | FormFile)[]>;

const MAX_PARTS = 1_000;
const MAX_HEADER_BYTES = 8_192;
const MAX_NAME_CHARS = 200;
/** The mark of a longer text field that was cut. */
const MAX_FIELD_BYTES = 1_048_576;

const LINE = "\r\n";
const DASHES = "--";

/**
 * Parses a `multipart/form-data` body (RFC 7578); never throws. A text instead of the fields is a sentence
 * for the caller. Linear in the body, and without a copy of it: it may be read to find a signature in it.
 *
 * - A field is its text, in UTF-8 or else one character for each byte, and at most 1 MiB of it. A file is
 *   reduced to its name, type and size.
 * - At most 1,000 parts, 8 KiB of headers for each, names of 200 characters. A field named `__proto__` is dropped.
 * - A repeated name is a list, and nothing may follow the end. Both show parts that were smuggled into a
 *   field by an author who knows the boundary: some senders use the same for every mail.
 */
export function parseMultipart(raw: Uint8Array, contentType: string): FormFields | string {
  const boundary = parse(contentType).parameters["boundary"] ?? "";
  if (!BOUNDARY.test(boundary)) return "The Content-Type of the form names no boundary.";
  const body = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const opening = DASHES + boundary;
  if (!body.subarray(0, opening.length).equals(Buffer.from(opening)))
    return "The form does not begin with its boundary.";
  const delimiter = Buffer.from(LINE + opening);
  const fields: FormFields = {};
  let at = opening.length;
  for (let parts = 0; parts <= MAX_PARTS; parts++) {
    if (body.toString("latin1", at, at + 2) === DASHES) {
      const rest = body.toString("latin1", at + 2, at + 6);
      return rest.trim() === "" && body.length <= at + 6 ? fields : "The form continues after its end.";
    }
    const headersEnd = body.subarray(at, at + MAX_HEADER_BYTES).indexOf(LINE + LINE);
    if (headersEnd === -1) return "A part of the form has no headers, or too long ones.";
    const from = at + headersEnd + 4;
    const end = body.indexOf(delimiter, from);
    if (end === -1) return "The form has no end.";
    const problem = addPart(fields, body.toString("utf8", at, at + headersEnd), body.subarray(from, end));
    if (problem !== undefined) return problem;
    at = end + delimiter.length;
  }
  return `The form has more than ${MAX_PARTS} parts.`;
}

/** RFC 2046, 5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

function addPart(fields: FormFields, head: string, bytes: Buffer): string | undefined {
  // The rest of the boundary's own line is padding.
  const headers = head.split(LINE).slice(1);
  const disposition = headerOf(headers, "content-disposition");
  if (disposition === undefined) return "A part of the form has no Content-Disposition.";
  const { name, filename, "filename*": encoded } = parse(disposition).parameters;
  if (name === undefined || name.length > MAX_NAME_CHARS) return "A part of the form has no name, or a too long one.";
  if (name === "__proto__") return undefined;
  const type = headerOf(headers, "content-type");
  const isFile = filename !== undefined || encoded !== undefined;
  const value = isFile
    ? {
        filename: (filename ?? decodeName(encoded!)).slice(0, MAX_NAME_CHARS),
        type: typeName(type),
        size: bytes.length,
      }
    : textOf(bytes);
  const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (known === undefined) fields[name] = value;
  else if (Array.isArray(known)) known.push(value);
  else fields[name] = [known, value];
  return undefined;
}

function headerOf(lines: readonly string[], name: string): string | undefined {
  const line = lines.find((each) => each.slice(0, name.length + 1).toLowerCase() === `${name}:`);
  return line?.slice(name.length + 1).trim();
}

function typeName(header = ""): string {
  return parse(header).type.slice(0, MAX_NAME_CHARS);
}

function textOf(bytes: Buffer): string {
  return bytes.toString(isUtf8(bytes) ? "utf8" : "latin1", 0, MAX_FIELD_BYTES);
}

/** RFC 8187: `UTF-8''a%20b`. */
function decodeName(encoded: string): string {
  const text = encoded.slice(encoded.lastIndexOf("'") + 1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
