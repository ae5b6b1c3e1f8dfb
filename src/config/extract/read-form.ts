/** Reads the JSON Schema of a form: a small part of it, in which everything has a bound. */
import Type from "typebox";
import type { ExtractField, ExtractForm } from "../../core/extraction.ts";
import type { Findings } from "../errors.ts";
import { compileSchemaCheck, type SchemaCheck } from "../schema-check.ts";
import type { KeyPath } from "../show-value.ts";
import { text } from "../schema-parts.ts";
import { readPattern } from "./pattern.ts";
import { maxChars } from "./measure.ts";

const MAX_DEPTH = 4;
const MAX_FIELDS = 100;
/** Characters that a whole form may come to, and so those of the text that the run reads. */
const MAX_CHARS = 50_000;
const MAX_STRING = 10_000;
const MAX_ITEMS = 100;
const NAME = /^[A-Za-z_][\w-]{0,63}$/u;

/** As a key of JSON that needs no quotes to be read; none that could reach a prototype or that every object has. */
function isFieldName(name: string): boolean {
  return NAME.test(name) && !isTaken(name);
}

function isTaken(name: string): boolean {
  return name === "prototype" || name in Object.prototype;
}

function nameProblem(name: string): string {
  return isTaken(name)
    ? "is the name of something that every object has; choose another"
    : "is no name of a field: use letters, digits, _ and -, and begin with a letter or _";
}

const description = Type.Optional(text({ description: "" }));
const bound = Type.Number({ minimum: -1e15, maximum: 1e15 });
const closed = { additionalProperties: false };

/** One kind of field as it may be written; a field of a field is checked by itself. */
const KINDS = {
  object: Type.Object(
    {
      type: Type.Literal("object"),
      properties: Type.Object({}),
      required: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_FIELDS })),
      additionalProperties: Type.Optional(Type.Literal(false, { title: "false, as it is always in a form" })),
      description,
    },
    closed,
  ),
  array: Type.Object(
    {
      type: Type.Literal("array"),
      items: Type.Object({}),
      maxItems: Type.Integer({ minimum: 1, maximum: MAX_ITEMS }),
      description,
    },
    closed,
  ),
  string: Type.Object(
    {
      type: Type.Literal("string"),
      maxLength: Type.Integer({ minimum: 1, maximum: MAX_STRING }),
      pattern: Type.Optional(text({ description: "", maxLength: 200, pattern: "\\S" })),
      description,
    },
    closed,
  ),
  enum: Type.Object(
    {
      type: Type.Optional(Type.Literal("string")),
      enum: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 100 }),
      description,
    },
    closed,
  ),
  integer: Type.Object({ type: Type.Literal("integer"), minimum: bound, maximum: bound, description }, closed),
  number: Type.Object({ type: Type.Literal("number"), minimum: bound, maximum: bound, description }, closed),
  boolean: Type.Object({ type: Type.Literal("boolean"), description }, closed),
};
type Kind = keyof typeof KINDS;
type Written = Readonly<Record<string, unknown>>;

const ADVICE: Partial<Record<Kind, string>> = {
  string: "every string needs a bound: write maxLength, such as maxLength: 200",
  array: "every array needs a bound: write maxItems, such as maxItems: 10",
  integer: "every number needs bounds: write minimum and maximum",
  number: "every number needs bounds: write minimum and maximum",
};

/** Reads a form; `undefined`, with what is wrong among the findings, when it is none. */
export function readForm(written: unknown, where: string, findings: Findings): ExtractForm | undefined {
  const reader = new FormReader(findings);
  const form = reader.read(written, where, 1);
  if (form === undefined) return undefined;
  if (form.type !== "object") {
    findings.refuse(where, 'must be an object on the outside: write type: "object" with properties');
    return undefined;
  }
  if (maxChars(form) > MAX_CHARS) {
    findings.refuse(
      where,
      `lets through ${maxChars(form)} characters, and ${MAX_CHARS} are the most: lower maxLength or maxItems`,
    );
    return undefined;
  }
  return form;
}

class FormReader {
  readonly #findings: Findings;
  #fields = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  read(written: unknown, where: string, depth: number): ExtractField | undefined {
    const refuse = (message: string): undefined => {
      this.#findings.refuse(where, message);
      return undefined;
    };
    this.#fields += 1;
    if (this.#fields === MAX_FIELDS + 1) refuse(`is one field too many: a form has at most ${MAX_FIELDS}`);
    if (this.#fields > MAX_FIELDS) return undefined;
    if (depth > MAX_DEPTH) return refuse(`is nested too deeply: a form has at most ${MAX_DEPTH} levels`);
    if (typeof written !== "object" || written === null || Array.isArray(written)) {
      return refuse('must be a field, such as { type: "string", maxLength: 200 }');
    }
    const field = written as Written;
    const kind = kindOf(field);
    if (kind === undefined) {
      return refuse(`has none of the types that a form can have: ${Object.keys(KINDS).join(", ")}`);
    }
    const issues = checkOf(kind)(field);
    const missing = issues.find(({ message }) => message === "is required");
    const advice = ADVICE[kind];
    if (missing && advice) return refuse(advice);
    for (const { path, message } of issues) this.#findings.refuse(`${where}.${path}`, message);
    return issues.length > 0 ? undefined : this.#fieldOf(kind, field, { where, depth });
  }

  /** Of a field that its own schema has passed. */
  #fieldOf(kind: Kind, field: WrittenField, at: { where: string; depth: number }): ExtractField | undefined {
    const { where, depth } = at;
    const { description: words, maxItems = 0, maxLength = 0, minimum = 0, maximum = 0, pattern } = field;
    const described = words === undefined ? {} : { description: words };
    switch (kind) {
      case "object":
        return this.#object(field, at, described);
      case "array": {
        const items = this.read(field.items, `${where}.items`, depth + 1);
        return items && { type: "array", items, maxItems, ...described };
      }
      case "string": {
        if (pattern === undefined) return { type: "string", maxLength, ...described };
        const source = readPattern(pattern, `${where}.pattern`, this.#findings);
        return source === undefined ? undefined : { type: "string", maxLength, pattern: source, ...described };
      }
      case "enum":
        return { type: "enum", values: [...new Set(field.enum)], ...described };
      case "boolean":
        return { type: "boolean", ...described };
      case "integer":
      case "number":
        if (minimum > maximum) this.#findings.refuse(`${where}.minimum`, "is more than maximum");
        return { type: kind, minimum, maximum, ...described };
    }
  }

  #object(
    { properties = {}, required = [] }: WrittenField,
    { where, depth }: { where: string; depth: number },
    words: Pick<ExtractField, "description">,
  ): ExtractForm | undefined {
    const names = Object.keys(properties);
    if (names.length === 0) this.#findings.refuse(`${where}.properties`, "is empty: name what the model is to take");
    for (const name of required) {
      if (!names.includes(name)) this.#findings.refuse(`${where}.required`, `${JSON.stringify(name)} is no property`);
    }
    const fields = names.map((name) => {
      const key = `${where}.properties.${name}`;
      if (isFieldName(name)) return [name, this.read(properties[name], key, depth + 1)] as const;
      this.#findings.refuse(key, nameProblem(name));
      return [name, undefined] as const;
    });
    const read = fields.filter((field): field is readonly [string, ExtractField] => field[1] !== undefined);
    if (read.length < fields.length || names.length === 0) return undefined;
    return { type: "object", properties: Object.fromEntries(read), required: [...new Set(required)], ...words };
  }
}

/** The keys of all kinds. */
interface WrittenField {
  readonly description?: string;
  readonly properties?: Written;
  readonly required?: readonly string[];
  readonly items?: unknown;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

function kindOf({ type, enum: values }: Written): Kind | undefined {
  if (values !== undefined) return "enum";
  return typeof type === "string" && type !== "enum" && Object.hasOwn(KINDS, type) ? (type as Kind) : undefined;
}

const checks = new Map<Kind, SchemaCheck>();

function checkOf(kind: Kind): SchemaCheck {
  const known = checks.get(kind);
  if (known) return known;
  const check = compileSchemaCheck(KINDS[kind], { root: [] satisfies KeyPath });
  checks.set(kind, check);
  return check;
}
