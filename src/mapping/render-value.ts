/**
 * Prints a value the way a template shows it: a string as is, a number or boolean by `String()`, an
 * object or array as compact JSON, and everything else (missing, `null`, a function, a bigint) as "".
 *
 * Only JSON data is printed. An object that holds a function named `toJSON`, a cycle or a bigint at
 * any depth, or whose getters throw, prints "": only a transform can make one, and its code is not
 * run here. Never throws.
 */
export function renderValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "boolean":
      return String(value);
    case "object":
      return value === null ? "" : renderObject(value);
    default:
      return "";
  }
}

function renderObject(value: object): string {
  try {
    return hasCustomJson(value) ? "" : JSON.stringify(value);
  } catch {
    // A cycle ends here too: it exhausts the stack of the walk, or JSON.stringify refuses it.
    return "";
  }
}

/**
 * Dates are let through: their `toJSON` is the engine's, unless an own property replaces a part of it.
 * The walk calls no method of the value, since an own property can stand in for any of them.
 */
function hasCustomJson(value: object): boolean {
  if (Object.getPrototypeOf(value) === Date.prototype) {
    return Object.hasOwn(value, "toJSON") || Object.hasOwn(value, "toISOString");
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return true;
  for (const child of Object.values(value) as unknown[]) {
    if (typeof child === "object" && child !== null && hasCustomJson(child)) return true;
  }
  return false;
}
