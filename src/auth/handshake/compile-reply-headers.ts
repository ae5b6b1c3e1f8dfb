import type { AnswerHeaders } from "../../http/answer.ts";
import { splitPlaceholders } from "../placeholders.ts";
import { isHeaderEcho } from "./challenge-forms.ts";
import { compileText } from "./compile-text.ts";
import type { TextScope } from "./compile-text.ts";
import type { HandshakeRequest } from "./handshake-request.ts";

/** A field name (RFC 9110, 5.1). */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/;
/** They say where an answer ends or what becomes of the connection, or set something in a browser. */
const RESERVED: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "keep-alive",
  "set-cookie",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** A challenge repeated as HTML would run scripts under the gateway's name. */
const HARMLESS_TYPE = /^(?:text\/plain|application\/(?:[\w.-]+\+)?json)(?:;[^{}]*)?$/i;

/** Makes the headers of an answer, lower-case names; `undefined` when a value is missing or no header may hold it. */
export type ReadHeaders = (request: HandshakeRequest) => AnswerHeaders | undefined;

/** Compiles the headers of a reply; throws a TypeError for one that must not be set. */
export function compileReplyHeaders(headers: Readonly<Record<string, string>>, scope: TextScope): ReadHeaders {
  const readers = Object.entries(headers).map(([written, value]) => {
    const name = written.toLowerCase();
    refuseHeader(name, value);
    return [name, compileText(value, { ...scope, takes: isHeaderEcho })] as const;
  });
  return (request) => {
    const made: Record<string, string> = {};
    for (const [name, read] of readers) {
      const value = read(request);
      // A setting may hold anything.
      if (value === undefined || !PRINTABLE_ASCII.test(value)) return undefined;
      made[name] = value;
    }
    return made;
  };
}

function refuseHeader(name: string, value: string): void {
  if (!NAME.test(name) || name === "__proto__" || RESERVED.has(name)) {
    throw new TypeError(`its reply cannot set the header "${name}"`);
  }
  if (name === "content-type" && !HARMLESS_TYPE.test(value)) {
    throw new TypeError("its reply can be plain text or JSON only");
  }
  const literals = splitPlaceholders(value).filter((part) => typeof part === "string");
  if (!literals.every((literal) => PRINTABLE_ASCII.test(literal))) {
    throw new TypeError(`the header "${name}" of its reply holds characters that no header may hold`);
  }
}
