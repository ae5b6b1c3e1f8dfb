/** Holds the reply of a model against a form: what does not fit is refused as a whole. */
import { removeHidden, type TextKind } from "../../core/boundary/remove-hidden.ts";
import type { ExtractField, ExtractForm } from "../../core/extraction.ts";
import { compileSchemaCheck, type SchemaIssue } from "../schema-check.ts";
import { type KeyPath, showKeyPath } from "../show-value.ts";
import { formSchema } from "./form-schema.ts";
import { compilePattern, type TakesWhole } from "./pattern.ts";

/** The filled form as JSON; `problem` has no word of the reply. */
export type Fitted = { readonly content: string } | { readonly problem: string };
export type Fit = (reply: string, kind: TextKind | undefined) => Fitted;

/** A form that a model puts between the fences of a code block is one all the same; any other text beside it is not. */
const FENCED = /^```(?:json)?\s*\n([\s\S]*)\n```$/iu;

/** Compiles the check of a form. */
export function compileFit(form: ExtractForm): Fit {
  const check = compileSchemaCheck(formSchema(form, { patterns: false }), { showValues: false });
  const patterns = new Map<string, TakesWhole>();
  return (reply, kind) => {
    const text = reply.trim();
    let written: unknown;
    try {
      written = JSON.parse(FENCED.exec(text)?.[1] ?? text);
    } catch {
      return { problem: "the reply is not one JSON object and nothing else" };
    }
    const [issue] = check(written);
    if (issue) return { problem: wordsOf(issue) };
    try {
      const filled = new Filled(kind, patterns).read(form, written, []);
      return { content: JSON.stringify(filled, null, 2) };
    } catch (error) {
      if (error instanceof UnfitError) return { problem: error.message };
      throw error;
    }
  };
}

/** The message has no word of the reply. */
class UnfitError extends Error {}

/** A key that the form does not have is a word of the reply. */
function wordsOf({ keys, message }: SchemaIssue): string {
  if (!message.startsWith("unknown key")) return `${nameOf(keys)}: ${message}`;
  return `${nameOf(keys.slice(0, -1))}: has a field that the schema does not have`;
}

function nameOf(keys: KeyPath): string {
  return keys.length === 0 ? "the reply" : showKeyPath(keys);
}

/**
 * Takes a value that the schema has passed over into a new one, field by field, in the order of the form. Throws an
 * {@link UnfitError} for what the schema did not say.
 */
class Filled {
  readonly #kind: TextKind | undefined;
  readonly #patterns: Map<string, TakesWhole>;

  constructor(kind: TextKind | undefined, patterns: Map<string, TakesWhole>) {
    this.#kind = kind;
    this.#patterns = patterns;
  }

  read(field: ExtractField, value: unknown, keys: KeyPath): unknown {
    if (field.type === "object") return this.#object(field, value as Readonly<Record<string, unknown>>, keys);
    if (field.type === "array") {
      return (value as readonly unknown[]).map((item, at) => this.read(field.items, item, [...keys, at]));
    }
    return field.type === "string" ? this.#string(field, String(value), keys) : value;
  }

  #object({ properties }: ExtractForm, value: Readonly<Record<string, unknown>>, keys: KeyPath): object {
    const given = Object.entries(properties).filter(([name]) => Object.hasOwn(value, name));
    return Object.fromEntries(given.map(([name, field]) => [name, this.read(field, value[name], [...keys, name])]));
  }

  /** The library counts what a reader sees as one character as one, however much it is made of. */
  #string({ maxLength, pattern }: Extract<ExtractField, { type: "string" }>, written: string, keys: KeyPath): string {
    const value = removeHidden(written.toWellFormed(), this.#kind).text;
    if (value.length > maxLength) throw new UnfitError(`${nameOf(keys)}: has more than ${maxLength} characters`);
    if (pattern !== undefined && !this.#patternOf(pattern)(value)) {
      throw new UnfitError(`${nameOf(keys)}: does not have the form of its pattern`);
    }
    return value;
  }

  #patternOf(source: string): TakesWhole {
    const known = this.#patterns.get(source);
    if (known) return known;
    const compiled = compilePattern(source);
    this.#patterns.set(source, compiled);
    return compiled;
  }
}
