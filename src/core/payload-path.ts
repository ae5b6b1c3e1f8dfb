/** One step of a path: a key, or the index of an array. */
export type PathSegment = string | number;

/** Reads a template expression's path once, so that {@link lookup} only follows it. */
export type CompiledPath = readonly PathSegment[];

const STEP = /\[(\d+)\]|[^.[\]]+/g;

/**
 * Compiles a path such as `messages[0].from` into its segments; any text is a path.
 *
 * Segments are separated by `.`; `[<digits>]` is an array index; other brackets separate as dots do
 * (`o[k]` is `o.k`), and separators in excess count for nothing. Keys keep their spaces, hyphens and
 * quotes. A path that names no segment is empty.
 */
export function compilePath(expression: string): CompiledPath {
  const segments: PathSegment[] = [];
  for (const [key, index] of expression.matchAll(STEP)) {
    segments.push(index === undefined ? key : Number(index));
  }
  return segments;
}

/**
 * Follows a path through own properties of objects and arrays, and answers `undefined` where it ends.
 *
 * Nothing inherited is reachable, strings and functions are not entered, an index applies to arrays
 * only, and `__proto__`, `prototype` and `constructor` lead nowhere even as own keys. Never throws: a
 * getter or proxy that does (only a transform can make one) counts as missing. The empty path is `root`.
 */
export function lookup(root: unknown, path: CompiledPath): unknown {
  try {
    return follow(root, path);
  } catch {
    return undefined;
  }
}

function follow(root: unknown, path: CompiledPath): unknown {
  let current = root;
  for (let at = 0; at < path.length; at++) {
    const segment = path[at]!;
    if (typeof current !== "object" || current === null) return undefined;
    if (typeof segment === "number" ? !Array.isArray(current) : isForbidden(segment)) return undefined;
    if (!Object.hasOwn(current, segment)) return undefined;
    current = (current as Record<PathSegment, unknown>)[segment];
  }
  return current;
}

function isForbidden(key: string): boolean {
  // The lengths come first because nearly every key fails them without a comparison of characters.
  if (key.length === 9) return key === "__proto__" || key === "prototype";
  return key.length === 11 && key === "constructor";
}
