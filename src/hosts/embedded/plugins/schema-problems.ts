import { showValue } from "../../../config/show-value.ts";

/** The check of one keyword of JSON Schema: reports the problem of a value, or descends into it. */
type Shape = (value: unknown, path: string, walk: Walk) => void;

/** Far more than options for people to write need; JSON that goes deeper is a mistake, and would exhaust the stack. */
const MAX_DEPTH = 64;

/**
 * The reasons why an object is no JSON Schema (2020-12, and draft 7 where that differs): a line each, with
 * the way to it. The validator takes a keyword that it does not understand for one that is not there, and
 * would then hold the options to nothing. Unknown keywords are annotations, and allowed.
 */
export function schemaProblems(schema: object): readonly string[] {
  const walk = new Walk(schema);
  walk.into(schema, "");
  return walk.problems;
}

class Walk {
  readonly problems: string[] = [];
  readonly #root: object;
  readonly #refs: { readonly ref: string; readonly path: string }[] = [];
  readonly #names = new Set<string>();
  #depth = 0;

  constructor(root: object) {
    this.#root = root;
  }

  into(schema: unknown, path: string): void {
    if (typeof schema === "boolean") return;
    if (!isRecord(schema)) return this.refuse(path, schema, "a schema: an object, true or false");
    if (this.#depth >= MAX_DEPTH) return this.refuse(path, undefined, `less than ${MAX_DEPTH} levels deep`);
    this.#depth++;
    for (const [keyword, value] of Object.entries(schema)) {
      const at = path === "" ? keyword : `${path}.${keyword}`;
      SHAPES.get(keyword)?.(value, at, this);
      if (typeof value !== "string") continue;
      if (keyword === "$id" || keyword === "$anchor") this.#names.add(value);
      if (keyword === "$ref") this.#refs.push({ ref: value, path: at });
    }
    this.#depth--;
    if (this.#depth > 0) return;
    for (const { ref, path: at } of this.#refs) {
      if (!this.#leadsSomewhere(ref)) this.refuse(at, ref, "the place of a schema in this one");
    }
  }

  refuse(path: string, value: unknown, what: string): void {
    const shown = value === undefined ? "it" : showValue(value);
    this.problems.push(`${path === "" ? "" : `${path}: `}${shown} is not ${what}`);
  }

  #leadsSomewhere(ref: string): boolean {
    const [name = "", fragment = ""] = ref.split("#", 2);
    if (name !== "" && !this.#names.has(name)) return false;
    if (fragment === "" || this.#names.has(fragment)) return true;
    // Of a schema with a name of its own the pointer starts there, and the validator knows where that is.
    return fragment.startsWith("/") && (name !== "" || isSchema(valueAt(this.#root, fragment)));
  }
}

const TYPES: readonly unknown[] = ["array", "boolean", "integer", "null", "number", "object", "string"];

const check =
  (is: (value: unknown) => boolean, what: string): Shape =>
  (value, path, walk) => {
    if (!is(value)) walk.refuse(path, value, what);
  };

const string = check((value) => typeof value === "string", "a string");
const boolean = check((value) => typeof value === "boolean", "true or false");
const number = check((value) => typeof value === "number", "a number");
const count = check((value) => Number.isInteger(value) && (value as number) >= 0, "a whole number from 0");
const names = check(isNames, "a list of strings");
const type = check(
  (value) => TYPES.includes(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
  `one of ${TYPES.join(", ")}, or a list of these`,
);

const schema: Shape = (value, path, walk) => walk.into(value, path);

const schemaList: Shape = (value, path, walk) => {
  if (!Array.isArray(value) || value.length === 0) return walk.refuse(path, value, "a list of schemas");
  for (const [at, part] of value.entries()) walk.into(part, `${path}[${at}]`);
};

const schemaMap: Shape = (value, path, walk) => {
  if (!isRecord(value)) return walk.refuse(path, value, "an object with a schema for each key");
  for (const [key, part] of Object.entries(value)) walk.into(part, `${path}.${key}`);
};

const items: Shape = (value, path, walk) => (Array.isArray(value) ? schemaList : schema)(value, path, walk);

const namesMap: Shape = (value, path, walk) => {
  if (!isRecord(value)) return walk.refuse(path, value, "an object with a list of keys for each key");
  for (const [key, part] of Object.entries(value)) names(part, `${path}.${key}`, walk);
};

const dependencies: Shape = (value, path, walk) => {
  if (!isRecord(value)) return walk.refuse(path, value, "an object");
  for (const [key, part] of Object.entries(value)) {
    (Array.isArray(part) ? names : schema)(part, `${path}.${key}`, walk);
  }
};

const keywordsOf: readonly (readonly [Shape, string])[] = [
  [type, "type"],
  [check((value) => Array.isArray(value) && value.length > 0, "a list with at least one value"), "enum"],
  [check((value) => typeof value === "number" && value > 0, "a number over 0"), "multipleOf"],
  [names, "required"],
  [number, "minimum maximum exclusiveMinimum exclusiveMaximum"],
  [count, "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains"],
  [boolean, "uniqueItems readOnly writeOnly deprecated"],
  [string, "$id $schema $anchor $ref $dynamicRef $dynamicAnchor $comment title description format pattern"],
  [schema, "not if then else contains propertyNames additionalProperties additionalItems"],
  [schema, "unevaluatedProperties unevaluatedItems"],
  [items, "items"],
  [schemaList, "allOf anyOf oneOf prefixItems"],
  [schemaMap, "properties patternProperties $defs definitions dependentSchemas"],
  [namesMap, "dependentRequired"],
  [dependencies, "dependencies"],
];

const SHAPES = new Map(
  keywordsOf.flatMap(([shape, keywords]) => keywords.split(" ").map((keyword) => [keyword, shape] as const)),
);

function isType(value: unknown): boolean {
  return TYPES.includes(value);
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || isRecord(value);
}

/** By a JSON pointer (RFC 6901) as it is in a URL; `undefined` when it leads nowhere. */
function valueAt(root: unknown, pointer: string): unknown {
  let value = root;
  for (const step of pointer.split("/").slice(1)) {
    const key = unescaped(step);
    if (key === undefined || typeof value !== "object" || value === null || !Object.hasOwn(value, key))
      return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

function unescaped(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
