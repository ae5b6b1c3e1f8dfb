/** An object of a configuration, whose values may be anything. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object at a way of keys; empty when there is none. */
export function fieldsAt(root: unknown, ...way: readonly string[]): Fields {
  let at: unknown = root;
  for (const key of way) at = isFields(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  return isFields(at) ? at : {};
}
