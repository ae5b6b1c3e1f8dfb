import { parsePayload } from "../http/parse-payload.ts";
import { valueAt } from "../core/payload-text.ts";

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** The beginning of JSON that is more than a scalar. */
const NESTED = /^\s*[[{]/;

/** The value of a text within a payload: a JSON object or array, as safely read as a body, or null; else the text. */
export function embeddedPayload(text: string): unknown {
  if (text.trim() === "null") return null;
  return (NESTED.test(text) ? readJson(text) : undefined) ?? text;
}

/** The same of base64 in either alphabet; what is no base64, or holds bytes that are no text, stays as it is. */
export function embeddedBase64(base64: string): unknown {
  const written = base64.trim();
  if (!BASE64.test(written)) return base64;
  const text = readText(Buffer.from(written, "base64"));
  return text === undefined ? base64 : embeddedPayload(text);
}

/**
 * Unwraps the form that holds its JSON in one field: `payload=%7B...`, as GitHub and Gitea post it.
 *
 * Of such a form nothing but that field is left, since Gitea signs no other. A field that is not JSON
 * stays as text in `payload`; any other payload is answered as it is.
 */
export function unwrapFormPayload(payload: unknown): unknown {
  const field = valueAt(payload, "payload");
  return typeof field === "string" ? (readJson(field) ?? { payload: field }) : payload;
}

function readJson(text: string): object | undefined {
  const parsed = parsePayload(Buffer.from(text), "application/json");
  return parsed.ok ? parsed.payload : undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function readText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
