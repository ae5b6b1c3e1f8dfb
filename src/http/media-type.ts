import { isTokenValid, isTypeValid, parse } from "content-type";

/** The parts of a Content-Type header that matter for a body. */
export interface MediaType {
  /** `none`: no header; `other`: neither JSON, a form, a form in parts nor text, or not readable. */
  readonly kind: "json" | "form" | "multipart" | "text" | "other" | "none";
  /** Lower case, for messages: `application/xml`; `undefined` when absent or not a media type. */
  readonly name: string | undefined;
  /** The charset parameter, in lower case, when it is one that UTF-8 decoding would misread. */
  readonly foreignCharset: string | undefined;
}

const NONE: MediaType = Object.freeze({ kind: "none", name: undefined, foreignCharset: undefined });
const JSON_TYPE: MediaType = Object.freeze({ kind: "json", name: "application/json", foreignCharset: undefined });

/** ASCII is a part of UTF-8; the names without a hyphen and prefix are misspellings seen in the field. */
const UTF8_CHARSETS: ReadonlySet<string> = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);

const MAX_NAME_CHARS = 100;

/**
 * Classifies a Content-Type header; never throws, whatever a client wrote there.
 *
 * JSON is `application/json`, `text/json` and every `+json` (RFC 6839), a form is
 * `application/x-www-form-urlencoded`, a form in parts `multipart/form-data`, text is every other `text/*`. An unreadable charset is
 * reported as `unreadable`, and a name that is no media type (RFC 9110, 8.3.1) or is longer than 100
 * characters is left out, so that nothing else of the header can reach an answer.
 */
export function readMediaType(header: string | undefined): MediaType {
  if (header === undefined || header === "") return NONE;
  if (header === "application/json") return JSON_TYPE;
  const { type, parameters } = parse(header);
  const name = type.length <= MAX_NAME_CHARS && isTypeValid(type) ? type : undefined;
  return {
    kind: name === undefined ? "other" : kindOf(name),
    name,
    foreignCharset: foreignCharset(parameters["charset"]),
  };
}

/** Says to the caller that a body is not JSON and that its type is not taken, which it names. */
export function unsupportedTypeMessage({ name }: MediaType): string {
  const type = name === undefined ? "this Content-Type" : `"${name}"`;
  return `The body is not JSON in UTF-8 and this hook does not take ${type}; send application/json.`;
}

function kindOf(name: string): MediaType["kind"] {
  if (name === "application/json" || name === "text/json" || name.endsWith("+json")) return "json";
  if (name === "application/x-www-form-urlencoded") return "form";
  if (name === "multipart/form-data") return "multipart";
  return name.startsWith("text/") ? "text" : "other";
}

function foreignCharset(parameter: string | undefined): string | undefined {
  if (parameter === undefined) return undefined;
  const charset = parameter.toLowerCase();
  if (UTF8_CHARSETS.has(charset)) return undefined;
  return charset.length <= MAX_NAME_CHARS && isTokenValid(charset) ? charset : "unreadable";
}
