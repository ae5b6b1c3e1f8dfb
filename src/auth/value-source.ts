import { compilePath, lookup } from "../core/payload-path.ts";
import type { RequestView } from "./verifier.ts";

/** A piece of a text with placeholders: literal text, or the name between braces with what follows its colon. */
export type TextPart = string | { readonly name: string; readonly argument: string };

const PLACEHOLDER = /\{([A-Za-z0-9]+)(?::([^{}]+))?\}/g;

/** Takes a text such as `v0:{timestamp}:{body}` apart; braces that hold no name are literal text. */
export function splitPlaceholders(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ name: match[1]!, argument: match[2] ?? "" });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** Reads one value of a request; `undefined` when it is not there or is no text, number or boolean. */
export type ReadValue = (view: RequestView) => string | undefined;

/** Reads all values that a source with `[]` names; `undefined` when one of them is missing, or there is none. */
export type ReadValues = (view: RequestView) => readonly string[] | undefined;

/**
 * Compiles a source: `header:<name>` (any case), `query:<name>`, `body:<path>` with a path as templates
 * have it. Other kinds (`pair:`, `path`) mean something to a scheme only and are never there. Only own
 * properties are reached.
 */
export function compileSource(source: string): ReadValue {
  const { kind, name } = splitSource(source);
  if (kind === "header") {
    const header = name.toLowerCase();
    return ({ headers }) => joined(Object.hasOwn(headers, header) ? headers[header] : undefined);
  }
  if (kind === "query") return ({ query }) => (Object.hasOwn(query, name) ? query[name] : undefined);
  if (kind === "body") {
    const path = compilePath(name);
    return ({ payload }) => scalar(lookup(payload, path));
  }
  return () => undefined;
}

/** Compiles a source whose path may hold `[]`, which represents every item of an array. */
export function compileSources(source: string): ReadValues {
  const { kind, name } = splitSource(source);
  if (kind !== "body" || !name.includes("[]")) {
    const read = compileSource(source);
    return (view) => {
      const value = read(view);
      return value === undefined ? undefined : [value];
    };
  }
  const steps = name.split("[]").map((step) => compilePath(step));
  return ({ payload }) => {
    let found: readonly unknown[] = [lookup(payload, steps[0]!)];
    for (const step of steps.slice(1)) {
      if (!found.every((value) => Array.isArray(value))) return undefined;
      found = found.flat().map((item) => lookup(item, step));
    }
    const values = found.map(scalar);
    return values.length > 0 && values.every((value) => value !== undefined) ? values : undefined;
  };
}

/** Takes a source apart: `header:x-id` is `header` and `x-id`. */
export function splitSource(source: string): { readonly kind: string; readonly name: string } {
  const colon = source.indexOf(":");
  return colon === -1 ? { kind: source, name: "" } : { kind: source.slice(0, colon), name: source.slice(colon + 1) };
}

function joined(value: string | readonly string[] | undefined): string | undefined {
  return value === undefined || typeof value === "string" ? value : value.join(", ");
}

function scalar(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) return String(value);
  return undefined;
}
