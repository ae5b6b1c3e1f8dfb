import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { SignatureAuth } from "../../config/auth/schema.ts";
import { splitPlaceholders } from "../value-source.ts";
import type { TextPart } from "../value-source.ts";
import { compileRequestSource, nameSource, sentBytes, wireBytes } from "./request-source.ts";
import type { SignedInput } from "./request-source.ts";
import { decodedUrl } from "./content-texts.ts";
import { formText } from "./content-texts.ts";
import { snsText } from "./content-texts.ts";

/** Stands for the secret, which is another in each attempt. */
const SECRET = Symbol("secret");

type Piece = string | Uint8Array | typeof SECRET;

/** The content that a request signs, but for a secret in it. */
export type ContentParts = readonly Piece[];

export interface SignedContent {
  /** True when a secret is a part of it, as with plain digests. */
  readonly hasSecret: boolean;
  /** True when an id is. */
  readonly hasId: boolean;
  /** True when a URL is, which may be written with a port or without. */
  readonly hasUrl: boolean;
  /** True when the body is, whatever it is. */
  readonly signsBody: boolean;
  /** True when it is one part of the body and nothing else: that is the event, whatever is put around it. */
  readonly isBodyPart: boolean;
  /** True when the body is if it is a form. */
  readonly signsForm: boolean;
  /** True when the value of a source is. */
  covers(source: string): boolean;
  /** The parts that a request signs; a text instead is the reason why there are none. */
  read(input: SignedInput): ContentParts | string;
}

/** Joins the parts to the bytes that are signed. */
export function joinContent(parts: ContentParts, secret: string): Uint8Array {
  if (parts.length === 1 && parts[0] instanceof Uint8Array) return parts[0];
  return Buffer.concat(
    parts.map((part) => {
      if (part instanceof Uint8Array) return part;
      return Buffer.from(part === SECRET ? secret : part, "utf8");
    }),
  );
}

type ReadPiece = (input: SignedInput) => Piece | undefined;

interface CompiledPiece {
  readonly name: string;
  readonly read: ReadPiece;
  /** The reason when it is not there. */
  readonly missing: string;
}

/**
 * Compiles the content of a scheme, a text with placeholders (see `AuthSchema.content`); `publicUrl` is
 * what stands before the target in `{url}`. Throws a TypeError for a placeholder that nothing fills.
 */
export function compileContent(
  auth: Pick<SignatureAuth, "content" | "id" | "timestamp">,
  publicUrl: string | undefined,
): SignedContent {
  const parts = splitPlaceholders(auth.content);
  const pieces = parts.map((part, at): CompiledPiece => {
    if (typeof part === "string") return { name: "", read: () => part, missing: "" };
    return compilePiece(part, { auth, publicUrl, next: parts[at + 1] });
  });
  const names = new Set(pieces.map(({ name }) => name));
  const signsBody = WHOLE_BODY.some((name) => names.has(name));
  return {
    hasSecret: names.has("secret"),
    hasId: names.has("id"),
    hasUrl: names.has("url") || names.has("decodedUrl"),
    signsBody,
    isBodyPart: pieces.length === 1 && pieces[0]!.name.startsWith("body:"),
    signsForm: names.has("form"),
    covers(source) {
      if (names.has(source) || (signsBody && source.startsWith("body:"))) return true;
      return (names.has("timestamp") && source === auth.timestamp?.from) || (names.has("id") && source === auth.id);
    },
    read(input) {
      const found: Piece[] = [];
      for (const { read, missing } of pieces) {
        const piece = read(input);
        if (piece === undefined) return missing;
        found.push(piece);
      }
      return found;
    },
  };
}

const WHOLE_BODY = ["body", "sns", "crc32", "sha256"];

interface PieceContext {
  readonly auth: Pick<SignatureAuth, "id" | "timestamp">;
  readonly publicUrl: string | undefined;
  readonly next: TextPart | undefined;
}

function compilePiece(part: Exclude<TextPart, string>, { auth, publicUrl, next }: PieceContext): CompiledPiece {
  const { name, argument } = part;
  if (SOURCE_KINDS.has(name) && argument !== "") {
    const source = `${name}:${argument.replace(/\?$/, "")}`;
    const read = compileSent(source);
    const isOptional = argument.endsWith("?");
    return {
      name: source,
      read: isOptional ? (input) => read(input) ?? "" : read,
      missing: `${nameSource(source)} is missing`,
    };
  }
  if (argument !== "") throw new TypeError(`auth.content: {${name}} takes nothing after a colon.`);
  if (name === "id") return { name, read: compileId(auth.id, next), missing: "the id is missing or malformed" };
  if (name === "timestamp") {
    if (auth.timestamp === undefined)
      throw new TypeError("auth.content has {timestamp}; auth.timestamp says where it is.");
    return { name, read: compileSent(auth.timestamp.from), missing: "timestamp is missing" };
  }
  if (name === "url" || name === "decodedUrl") {
    if (publicUrl === undefined) {
      throw new TypeError(`auth.content signs {${name}}; set hooks.publicUrl to the URL that the sender calls.`);
    }
    const rewrite = name === "url" ? (url: string) => url : decodedUrl;
    const base = rewrite(publicUrl);
    return { name, read: ({ call }) => sentUrl(base, rewrite(call.target)), missing: "" };
  }
  if (name === "path") {
    const base = publicUrl === undefined ? "" : pathOf(publicUrl);
    return { name, read: ({ call }) => sentUrl(base, call.target.split("?", 1)[0]!), missing: "" };
  }
  const read = Object.hasOwn(PIECES, name) ? PIECES[name] : undefined;
  if (read === undefined) throw new TypeError(`auth.content: {${name}} is not known.`);
  return { name, read, missing: "the body is no signed message" };
}

const SOURCE_KINDS: ReadonlySet<string> = new Set(["header", "query", "pair", "body"]);

const PIECES: Readonly<Record<string, ReadPiece>> = {
  body: ({ call }) => call.body,
  method: ({ call }) => call.method,
  form: ({ call }) => formText(call),
  sns: ({ view }) => snsText(view.payload),
  crc32: ({ call }) => String(crc32(call.body)),
  sha256: ({ call }) => hash("sha256", call.body, "hex"),
  secret: () => SECRET,
};

const MAX_ID_CHARS = 512;

/** The text that follows the id in the content must not be part of it, or two requests could sign the same. */
function compileId(source: string | undefined, next: TextPart | undefined): ReadPiece {
  if (source === undefined) throw new TypeError("auth.content has {id}; auth.id says where it is.");
  const read = compileRequestSource(source);
  const separator = typeof next === "string" ? next : undefined;
  return (input) => {
    const id = read(input);
    if (id === undefined || id === "" || id.length > MAX_ID_CHARS) return undefined;
    return separator !== undefined && id.includes(separator) ? undefined : sentBytes(id, source);
  };
}

function compileSent(source: string): ReadPiece {
  const read = compileRequestSource(source);
  return (input) => {
    const value = read(input);
    return value === undefined ? undefined : sentBytes(value, source);
  };
}

/** The path of a URL, which has none of its own when it ends in `/`. */
function pathOf(url: string): string {
  return url.replace(/^[a-z]+:\/\/[^/]*/i, "").replace(/\/$/, "");
}

function sentUrl(base: string, target: string): string | Uint8Array {
  const sent = wireBytes(target);
  return typeof sent === "string" ? base + sent : Buffer.concat([Buffer.from(base), sent]);
}
