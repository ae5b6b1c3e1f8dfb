/** Any escape of `_` or a lower-case letter: the only other way to write one of the keys. */
const ESCAPED_LETTER = /\\u00[5-7]/;

/**
 * Removes from freshly parsed JSON, in place, the keys with which a careless copy or merge would
 * change the prototype of other objects: every own `__proto__`, and every `constructor` whose value
 * is an object with an own `prototype`.
 *
 * JSON.parse makes them harmless own properties, but a transform that assigns key by key would not.
 * `text` is the JSON the value was parsed from; the value is walked only when it can hold such a key.
 */
export function dropPollutingKeys(value: object, text: string): void {
  if (!mayPollute(text)) return;
  const pending: object[] = [value];
  for (let holder = pending.pop(); holder !== undefined; holder = pending.pop()) {
    if (Object.hasOwn(holder, "__proto__")) Reflect.deleteProperty(holder, "__proto__");
    if (Object.hasOwn(holder, "constructor") && hasPrototypeKey(holder.constructor)) {
      Reflect.deleteProperty(holder, "constructor");
    }
    for (const child of Object.values(holder) as unknown[]) {
      if (typeof child === "object" && child !== null) pending.push(child);
    }
  }
}

function mayPollute(text: string): boolean {
  if (text.includes("__proto__") || text.includes("constructor")) return true;
  return text.includes("\\u00") && ESCAPED_LETTER.test(text);
}

function hasPrototypeKey(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}
