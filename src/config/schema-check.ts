import type { TLocalizedValidationError } from "typebox/error";
import { Check, Compile, Errors, type Validator } from "typebox/schema";
import { Settings } from "typebox/system";
import type { ConfigIssue } from "./errors.ts";
import { closestKey, type KeyPath, showKeyPath, showNames, showValue } from "./show-value.ts";

/** One thing that a schema has against a value. */
export interface SchemaIssue extends ConfigIssue {
  /** The way to the key from the value that was checked. */
  readonly keys: KeyPath;
}

/**
 * Everything that is wrong with a value, at once; empty when nothing is. `alsoKnown` are keys at the top
 * that the schema does not have and that are checked elsewhere.
 */
export type SchemaCheck = (raw: unknown, alsoKnown?: readonly string[]) => readonly SchemaIssue[];

export interface SchemaCheckOptions {
  /** The key of the value, for messages. */
  readonly root?: KeyPath;
  /** False: no message shows a value, for schemas that do not mark their secrets. Default: true. */
  readonly showValues?: boolean;
  /** True for a check that is made again and again. Default: false, for a configuration, which is checked once. */
  readonly isFrequent?: boolean;
}

/**
 * Parts of a value for which it is worth making a validator: it takes up to 30 ms and half a MiB, and then checks 60
 * times as fast.
 */
const WORTH_COMPILING = 10_000;
/** As deep as the lists of a configuration: deeper parts are few for each of their entries. */
const MAX_DEPTH = 4;

/**
 * Makes a JSON schema a check that words what is wrong in a value: for example
 * `"wak" is not one of wake, agent`. Values under a `writeOnly` key are never shown, and a schema's
 * `title` is the noun phrase for what a value should have been. The check throws when the schema is none.
 */
export function compileSchemaCheck(schema: object, options: SchemaCheckOptions = {}): SchemaCheck {
  const { root = [], showValues = true, isFrequent = false } = options;
  let validator: Validator | undefined;
  return (raw, alsoKnown = []) => {
    if (isFrequent || partsOf(raw, MAX_DEPTH) >= WORTH_COMPILING) validator ??= Compile(schema);
    if (validator === undefined ? Check(schema, raw) : validator.Check(raw)) return [];
    const issues = new Map<string, SchemaIssue>();
    for (const error of withAllErrors(() => Errors(schema, raw)[1])) {
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

/** The values in a value, down to a depth. */
function partsOf(value: unknown, depth: number): number {
  if (depth === 0 || typeof value !== "object" || value === null) return 1;
  let parts = 1;
  for (const part of Object.values(value)) parts += partsOf(part, depth - 1);
  return parts;
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
  const shown = isSecret || isMisplaced(value, node) ? "the value" : showValue(value);
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

/** A text instead of a block, a number or a switch, and too long to be one, may be a secret in a wrong place. */
function isMisplaced(value: unknown, { type = "" }: SchemaNode): boolean {
  if (typeof value !== "string") return false;
  if (type === "object" || type === "array") return value.length >= 16;
  return ["integer", "number", "boolean"].includes(type) && value.length >= 8;
}

const NOUNS: ReadonlyMap<string, string> = new Map([
  ["string", "a string"],
  ["boolean", "true or false"],
  ["integer", "a whole number"],
  ["number", "a number"],
  ["array", "a list"],
  ["object", "an object"],
]);

/** The parts of a JSON schema that the messages need. */
interface SchemaNode {
  readonly type?: string;
  readonly title?: string;
  readonly writeOnly?: boolean;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: unknown;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
}

/** A violation of a JSON schema with what it is about. */
interface Violation {
  readonly error: TLocalizedValidationError;
  readonly path: KeyPath;
  readonly value: unknown;
  /** The violated part of the schema; empty when the schema does not reach it by itself. */
  readonly node: SchemaNode;
  /** True at and below a key that is `writeOnly`, and where that is unknown. */
  readonly isSecret: boolean;
}

/**
 * Walks to what a violation is about, through schema and value at once.
 *
 * The library reports every branch of a union besides the union itself; only the branch of the
 * value's own type has something to say, or, where there is none, the union. The others, and what is
 * reported in another form as well, are `undefined`.
 */
function locateViolation(schema: SchemaNode, raw: unknown, error: TLocalizedValidationError): Violation | undefined {
  // An unknown key is reported a second time, by the object that does not know it.
  if (error.keyword === "boolean") return undefined;
  const { values, path } = walkValue(raw, error.instancePath);
  const value = values.at(-1);
  let node = schema;
  let depth = 0;
  let isSecret = node.writeOnly === true;
  for (const steps = stepsOf(error.schemaPath); steps.length > 0;) {
    const step = takeStep(node, steps);
    if (step === undefined) return { error, path, value, node: {}, isSecret: true };
    if (step.isBranch && !isOfType(values[depth], step.node.type)) return undefined;
    node = step.node;
    if (!step.isBranch) depth++;
    isSecret ||= node.writeOnly === true || node.$ref !== undefined;
  }
  // A schema for unknown keys has reported the problem itself.
  if (error.keyword === "additionalProperties" && node.additionalProperties !== false) return undefined;
  const isUnion = error.keyword === "anyOf" || error.keyword === "oneOf";
  if (isUnion && branchesOf(node).some(({ type }) => isOfType(value, type))) return undefined;
  return { error, path, value, node, isSecret };
}

interface Step {
  readonly node: SchemaNode;
  /** True for a branch of a union; every other step goes one key down in the value as well. */
  readonly isBranch: boolean;
}

/** Takes a step such as `properties`, `token` or `anyOf`, `0` off the list; `undefined` where the schema has no such. */
function takeStep(node: SchemaNode, steps: string[]): Step | undefined {
  const keyword = steps.shift()!;
  const part = Object.entries(node).find(([name]) => name === keyword)?.[1] as unknown;
  if (typeof part !== "object" || part === null) return undefined;
  if (keyword === "items" || keyword === "additionalProperties") return { node: part, isBranch: false };
  const name = steps.shift() ?? "";
  const below = Object.entries(part as Readonly<Record<string, SchemaNode>>).find(([key]) => key === name)?.[1];
  const isBranch = keyword === "anyOf" || keyword === "oneOf";
  if (!isBranch && keyword !== "properties" && keyword !== "patternProperties") return undefined;
  return below && { node: below, isBranch };
}

function branchesOf(node: SchemaNode): readonly SchemaNode[] {
  return node.anyOf ?? node.oneOf ?? [];
}

/** The steps of a JSON pointer (RFC 6901). */
function stepsOf(pointer: string): string[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The values on the way to a JSON pointer, outermost first, and the way itself. */
function walkValue(raw: unknown, pointer: string): { values: readonly unknown[]; path: KeyPath } {
  const values = [raw];
  const path: (string | number)[] = [];
  for (const key of stepsOf(pointer)) {
    const parent = values.at(-1);
    path.push(Array.isArray(parent) ? Number(key) : key);
    values.push((parent as Readonly<Record<string, unknown>>)[key]);
  }
  return { values, path };
}

function isOfType(value: unknown, type: string | undefined): boolean {
  if (type === undefined) return true;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === (type === "integer" ? "number" : type);
}
