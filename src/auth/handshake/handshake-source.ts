import { compilePath } from "../../core/payload-path.ts";
import { splitSource } from "../value-source.ts";

/** Throws a TypeError unless a source of a handshake names one place in a header, the query or the body. */
export function checkSource(source: string): { readonly kind: string; readonly name: string } {
  const { kind, name } = splitSource(source);
  const isKnown = kind === "header" || kind === "query" || kind === "body";
  const isOne = kind === "body" ? compilePath(name).length > 0 && !name.includes("[]") : name !== "";
  if (isKnown && isOne) return { kind, name };
  throw new TypeError(`"${source}" is no place in a header, the query or the body`);
}
