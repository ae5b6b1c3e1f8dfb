import type { TransformFunction } from "../context.ts";

export type PickedExport =
  | { readonly ok: true; readonly value: TransformFunction }
  | { readonly ok: false; readonly reason: string };

/**
 * Finds the transform among a module's exports: the one named, without a fallback; else `default`,
 * else `transform`. A CommonJS module that is itself a function is its own default.
 *
 * `exports` is what the module loader gives; own properties count, what they inherit does not.
 */
export function pickExport(exports: unknown, name: string | undefined): PickedExport {
  const wanted = name ?? (valueOf(exports, "default") === undefined ? "transform" : "default");
  const value = valueOf(exports, wanted);
  if (isFunction(value)) return { ok: true, value };
  if (value !== undefined) return { ok: false, reason: `exports "${wanted}", which is not a function` };
  const empty = (name === undefined ? ["default", "transform"] : [name]).find((each) => has(exports, each));
  if (empty !== undefined) return { ok: false, reason: `exports "${empty}", which is undefined once it is loaded` };
  const missing = name === undefined ? 'neither "default" nor "transform"' : `nothing named "${name}"`;
  return { ok: false, reason: `exports ${missing}; it exports ${namesOf(exports)}` };
}

function has(exports: unknown, name: string): exports is object {
  return isContainer(exports) && Object.hasOwn(exports, name);
}

function valueOf(exports: unknown, name: string): unknown {
  if (has(exports, name)) return Reflect.get(exports, name);
  return name === "default" && isFunction(exports) ? exports : undefined;
}

function namesOf(exports: unknown): string {
  const names = isContainer(exports) ? Object.keys(exports).toSorted() : [];
  return names.length === 0 ? "nothing" : names.slice(0, 10).join(", ");
}

function isContainer(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function isFunction(value: unknown): value is TransformFunction {
  return typeof value === "function";
}
