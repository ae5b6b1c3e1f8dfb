import type { SignatureAuth } from "./schema.ts";
import type { AuthInput } from "./schema.ts";
import type { Findings } from "../errors.ts";
import { algorithmsOf } from "./secrets.ts";
import { showValue } from "../show-value.ts";

/** As the signature engine reads them: other braces are literal text. */
const PLACEHOLDER = /\{([A-Za-z0-9]+)(?::([^{}]+))?\}/g;
const PLAIN = new Set([
  "body",
  "timestamp",
  "id",
  "method",
  "url",
  "decodedUrl",
  "path",
  "form",
  "sns",
  "crc32",
  "sha256",
  "secret",
]);
const SOURCES = new Set(["header", "query", "pair", "body"]);
/** The placeholder of the whole body; `{form}` is that of forms. */
const WHOLE_BODY = ["body", "form", "sns", "crc32", "sha256"];

/** The parts of a signed content. */
interface ContentNames {
  /** Placeholders without an argument: `body`, `timestamp`. */
  readonly plain: ReadonlySet<string>;
  /** Those with one, as sources: `header:x-id`. */
  readonly sources: ReadonlySet<string>;
}

/** Takes the placeholders out of a content. */
function namesIn(content: string): ContentNames {
  const plain = new Set<string>();
  const sources = new Set<string>();
  for (const [, name = "", argument] of content.matchAll(PLACEHOLDER)) {
    if (argument === undefined) plain.add(name);
    else sources.add(`${name}:${argument}`);
  }
  return { plain, sources };
}

/** True when the URL is signed, as the sender was given it. */
export function signsUrl({ content }: Pick<SignatureAuth, "content">): boolean {
  const { plain } = namesIn(content);
  return plain.has("url") || plain.has("decodedUrl");
}

/** True when no other body has the same signature. */
export function signsBody({ content, bodyDigest }: Pick<SignatureAuth, "content" | "bodyDigest">): boolean {
  const { plain } = namesIn(content);
  return bodyDigest !== undefined || WHOLE_BODY.some((name) => plain.has(name));
}

/** Judges what a scheme signs, and the places that it is read from; `where` is the key of the `auth`. */
export function checkContent(input: AuthInput, auth: SignatureAuth, where: string, findings: Findings): void {
  const names = namesIn(auth.content);
  const refuse = (key: string, message: string): void => findings.refuse(`${where}.${key}`, message);
  checkPlaceholders(names, refuse);
  const digest = algorithmsOf(auth.algorithm).find((name) => name === "sha1" || name === "sha256");
  if (digest !== undefined && !names.plain.has("secret")) {
    refuse("content", `needs {secret} with the algorithm ${digest}: anyone can make a digest of the rest`);
  }
  if (names.plain.has("id") && auth.id === undefined) refuse("id", "is required, since the content has {id}");
  if (auth.id !== undefined && !names.plain.has("id")) refuse("id", "has no effect: the content has no {id}");
  if (names.plain.has("timestamp") && auth.timestamp === undefined) {
    refuse("timestamp", "is required, since the content has {timestamp}");
  }
  if (auth.timestamp !== undefined && !isSigned(auth.timestamp.from, names)) {
    refuse("timestamp.from", "is not signed: put {timestamp} into the content, or leave timestamp out");
  }
  if (input.anyPort !== undefined && !signsUrl(auth)) refuse("anyPort", "has no effect: the content has no {url}");
  checkPlaces(auth, names, refuse);
}

type Refuse = (key: string, message: string) => void;

function checkPlaceholders({ plain, sources }: ContentNames, refuse: Refuse): void {
  for (const name of plain) {
    if (PLAIN.has(name)) continue;
    const why = SOURCES.has(name) ? `{${name}} needs a name, as in {${name}:x}` : `{${name}} is not known`;
    refuse("content", `${why}; known are ${[...PLAIN].map((known) => `{${known}}`).join(", ")}`);
  }
  for (const source of sources) {
    const [name = ""] = source.split(":", 1);
    if (!SOURCES.has(name)) refuse("content", `${showValue(`{${source}}`)} is not known: only ${KINDS} take a name`);
  }
}

const KINDS = [...SOURCES].map((name) => `{${name}:...}`).join(", ");

/** True when a changed value in that place makes the signature wrong. */
function isSigned(source: string, { plain, sources }: ContentNames): boolean {
  if (plain.has("timestamp") || sources.has(source)) return true;
  if (source.startsWith("body:")) return WHOLE_BODY.some((name) => plain.has(name));
  return source.startsWith("query:") && (plain.has("url") || plain.has("decodedUrl"));
}

/** `pair:` reads the pairs of the signature header, where there are any. */
function checkPlaces(auth: SignatureAuth, { sources }: ContentNames, refuse: Refuse): void {
  const places: [key: string, source: string | undefined][] = [
    ["id", auth.id],
    ["timestamp.from", auth.timestamp?.from],
    ["bodyDigest.from", auth.bodyDigest?.from],
    ["certificate.from", auth.certificate?.from],
    ["algorithm.from", typeof auth.algorithm === "string" ? undefined : auth.algorithm.from],
    ...[...sources].map((source): [string, string] => ["content", source]),
  ];
  for (const [key, source] of places) {
    if (source === undefined) continue;
    if (source === "path") refuse(key, "cannot be path, which is for the scheme secret");
    else if (source.startsWith("claim:")) refuse(key, `cannot be ${showValue(source)}: only the scheme jwt has claims`);
    else if (source.startsWith("pair:") && auth.pair === undefined) {
      refuse(key, `cannot be ${showValue(source)}: the signature's header has pairs only where pair is set`);
    }
  }
}
