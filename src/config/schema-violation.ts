import type { TLocalizedValidationError } from "typebox/error";
import type { KeyPath } from "./key-path.ts";

/** What of a JSON schema is read here and by the wording. */
export interface SchemaNode {
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
export interface Violation {
  readonly error: TLocalizedValidationError;
  readonly path: KeyPath;
  readonly value: unknown;
  /** The violated part of the schema; empty when the schema does not reach it by itself. */
  readonly node: SchemaNode;
  /** True at and below a key that is `writeOnly`, and where nobody can tell. */
  readonly isSecret: boolean;
}

/**
 * Walks to what a violation is about, through schema and value at once.
 *
 * The library reports every branch of a union besides the union itself; only the branch of the
 * value's own type has something to say, or, where there is none, the union. The others, and what is
 * reported in another form as well, are `undefined`.
 */
export function locateViolation(
  schema: SchemaNode,
  raw: unknown,
  error: TLocalizedValidationError,
): Violation | undefined {
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
  // Where unknown keys have a schema of their own, that one has said what is wrong.
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
