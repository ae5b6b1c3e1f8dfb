/** Sketches the type of a payload from examples of it. */

/** The values at one place of all examples. */
interface Shape {
  /** `string`, `null` and so on. */
  readonly plain: Set<string>;
  objects: number;
  readonly fields: Map<string, { readonly shape: Shape; seen: number }>;
  /** Of the items of arrays; absent: there was no array. */
  items: Shape | undefined;
}

const MAX_DEPTH = 8;
const MAX_FIELDS = 60;
const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/u;

/**
 * A TypeScript type that all examples have, with keys that only some have as optional ones. Below eight
 * levels, and over 60 keys of one object, it is `unknown`.
 */
export function payloadType(examples: readonly unknown[]): string {
  const shape = emptyShape();
  for (const example of examples) addTo(shape, example, 0);
  return typeOf(shape, "");
}

function emptyShape(): Shape {
  return { plain: new Set(), objects: 0, fields: new Map(), items: undefined };
}

function addTo(shape: Shape, value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) {
    shape.plain.add(value === null ? "null" : typeof value);
  } else if (depth === MAX_DEPTH) {
    shape.plain.add("unknown");
  } else if (Array.isArray(value)) {
    shape.items ??= emptyShape();
    for (const item of value) addTo(shape.items, item, depth + 1);
  } else {
    shape.objects++;
    for (const [key, each] of Object.entries(value)) addField(shape, key, each, depth);
  }
}

function addField({ fields }: Shape, key: string, value: unknown, depth: number): void {
  const field = fields.get(key) ?? { shape: emptyShape(), seen: 0 };
  if (fields.size === MAX_FIELDS && !fields.has(key)) return;
  field.seen++;
  fields.set(key, field);
  addTo(field.shape, value, depth + 1);
}

function typeOf(shape: Shape, indent: string): string {
  if (shape.plain.has("unknown")) return "unknown";
  const types = [
    ...(shape.objects > 0 ? [objectType(shape, indent)] : []),
    ...(shape.items === undefined ? [] : [`readonly ${itemsType(shape.items, indent)}[]`]),
    ...shape.plain,
  ];
  return types.length === 0 ? "unknown" : types.join(" | ");
}

function itemsType(items: Shape, indent: string): string {
  const type = typeOf(items, indent);
  return items.plain.size + (items.objects > 0 ? 1 : 0) + (items.items === undefined ? 0 : 1) > 1 ? `(${type})` : type;
}

function objectType({ fields, objects }: Shape, indent: string): string {
  if (fields.size === 0) return "object";
  const inner = `${indent}  `;
  const lines = [...fields].map(([key, { shape, seen }]) => {
    const name = PLAIN_NAME.test(key) ? key : JSON.stringify(key).replaceAll("*/", "*\\/");
    return `${inner}readonly ${name}${seen < objects ? "?" : ""}: ${typeOf(shape, inner)};\n`;
  });
  const rest = fields.size === MAX_FIELDS ? `${inner}readonly [key: string]: unknown;\n` : "";
  return `{\n${lines.join("")}${rest}${indent}}`;
}
