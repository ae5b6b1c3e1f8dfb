import { Compile } from "typebox/schema";
import { Settings } from "typebox/system";
import { closestKey } from "./closest-key.ts";
import type { ConfigIssue } from "./config-error.ts";
import { showKeyPath } from "./key-path.ts";
import type { KeyPath } from "./key-path.ts";
import { locateViolation } from "./schema-violation.ts";
import type { Violation } from "./schema-violation.ts";
import { showNames, showValue } from "./show-value.ts";

/** One thing that a schema has against a value. */
export interface SchemaIssue extends ConfigIssue {
  /** The way to the key from the value that was checked. */
  readonly keys: KeyPath;
}

/**
 * Everything that is wrong with a value, at once; empty when nothing is. `alsoKnown` are keys at the top
 * that the schema does not have and somebody else judges.
 */
export type SchemaCheck = (raw: unknown, alsoKnown?: readonly string[]) => readonly SchemaIssue[];

export interface SchemaCheckOptions {
  /** Where the value stands in the configuration, for messages. */
  readonly root?: KeyPath;
  /** False: no message shows a value, for schemas that do not mark their secrets. Default: true. */
  readonly showValues?: boolean;
}

/**
 * Compiles a JSON schema into a check that words what is wrong in a value: for example
 * `"wak" is not one of wake, agent`. Values under a `writeOnly` key are never shown, and a schema's
 * `title` is the noun phrase for what a value should have been. Throws when the schema is none.
 */
export function compileSchemaCheck(schema: object, options: SchemaCheckOptions = {}): SchemaCheck {
  const { root = [], showValues = true } = options;
  const validator = Compile(schema);
  return (raw, alsoKnown = []) => {
    if (validator.Check(raw)) return [];
    const issues = new Map<string, SchemaIssue>();
    for (const error of withAllErrors(() => validator.Errors(raw)[1])) {
      const violation = locateViolation(schema, raw, error);
      if (violation === undefined) continue;
      const shown = showValues ? violation : { ...violation, isSecret: true };
      for (const { keys, message } of wordIssues(shown, alsoKnown)) {
        const path = showKeyPath([...root, ...keys]);
        // An empty string, say, is too short and of the wrong form: the first issue of a key says enough.
        if (!issues.has(path)) issues.set(path, { path, keys, message });
      }
    }
    return [...issues.values()];
  };
}

/** The library stops after eight violations unless a process-wide setting says otherwise. */
function withAllErrors<Errors>(read: () => Errors): Errors {
  const { maxErrors } = Settings.Get();
  Settings.Set({ maxErrors: Infinity });
  try {
    return read();
  } finally {
    Settings.Set({ maxErrors });
  }
}

function wordIssues(
  violation: Violation,
  alsoKnown: readonly string[],
): { readonly keys: KeyPath; readonly message: string }[] {
  const { error, path, node } = violation;
  if (error.keyword === "additionalProperties") {
    const others = path.length === 0 ? alsoKnown : [];
    const known = [...Object.keys(node.properties ?? {}), ...others];
    const unknown = error.params.additionalProperties.filter((key) => !others.includes(key));
    return unknown.map((key) => ({
      keys: [...path, key],
      message: wordUnknownKey(key, known),
    }));
  }
  if (error.keyword === "required") {
    return error.params.requiredProperties.map((key) => ({ keys: [...path, key], message: "is required" }));
  }
  return [{ keys: path, message: wordValue(violation) }];
}

function wordUnknownKey(key: string, known: readonly string[]): string {
  const closest = closestKey(key, known);
  if (closest !== undefined) return `unknown key; did you mean "${closest}"?`;
  return known.length === 0 ? "unknown key" : `unknown key; known are ${showNames(known)}`;
}

function wordValue({ error, value, node, isSecret }: Violation): string {
  // A long text in the place of a block is likely the secret that belongs into it.
  const isMisplaced = typeof value === "string" && value.length >= 16 && node.type === "object";
  const shown = isSecret || isMisplaced ? "the value" : showValue(value);
  switch (error.keyword) {
    case "enum": {
      const allowed = error.params.allowedValues.map(String);
      if (allowed.length === 1) return `${shown} is not supported; the only value is ${allowed[0]}`;
      return `${shown} is not one of ${allowed.join(", ")}`;
    }
    case "minimum":
      return `${shown} is less than ${error.params.limit}`;
    case "maximum":
      return `${shown} is more than ${error.params.limit}`;
    case "maxLength":
      return `has more than ${error.params.limit} characters`;
    case "minItems":
      return error.params.limit === 1 ? "is empty" : `has fewer than ${error.params.limit} entries`;
    case "maxItems":
      return `has more than ${error.params.limit} entries`;
    default: {
      const noun = node.title ?? (error.keyword === "type" ? NOUNS.get(node.type ?? "") : undefined);
      return noun === undefined ? `${shown} ${error.message}` : `${shown} is not ${noun}`;
    }
  }
}

const NOUNS: ReadonlyMap<string, string> = new Map([
  ["string", "a string"],
  ["boolean", "true or false"],
  ["integer", "a whole number"],
  ["number", "a number"],
  ["array", "a list"],
  ["object", "an object"],
]);
