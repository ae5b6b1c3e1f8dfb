import Type from "typebox";
import type { Static } from "typebox";
import { compileSchemaCheck } from "../config/schema-check.ts";
import { TransformError, unfinishedName } from "./call.ts";

/** A field that may be left out, and then is the mapping's; `null` is as good as absent. */
const optional = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema, title: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { title }));

const string = optional(Type.String(), "a string");
/** Ids often are numbers. */
const text = Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()], { title: "a string" }));
const flag = optional(Type.Boolean(), "true or false");
const mode = optional(Type.Enum(["now", "next-heartbeat"]), '"now" or "next-heartbeat"');

const ActionSchema = Type.Object({
  kind: optional(Type.Enum(["wake", "agent"]), '"wake" or "agent"'),
  name: text,
  agentId: text,
  allowUnsafeExternalContent: flag,
  /** Of a wake. */
  text: string,
  mode,
  /** Of an agent run. */
  message: string,
  sessionKey: text,
  /** `static`: the key was not derived from the payload. */
  sessionKeySource: string,
  wakeMode: mode,
  deliver: flag,
  channel: text,
  to: text,
  model: text,
  thinking: text,
  sessionMode: optional(Type.Enum(["isolated", "persistent"]), "one of isolated, persistent"),
  timeoutSeconds: optional(Type.Number({ exclusiveMinimum: 0 }), "a number of seconds above 0"),
});

/** The fields of an action in a transform's result; other fields mean nothing. */
export type TransformAction = Readonly<Static<typeof ActionSchema>>;

// A result often holds parts of the payload, which no log may show.
const check = compileSchemaCheck(ActionSchema, { showValues: false, isFrequent: true });
const MAX_REPORTED = 3;

/**
 * Reads what a transform returned: each entry overrides the mapping's own action once, `undefined` keeps
 * it as it is, and no entry at all means that the request is skipped.
 *
 * Throws a {@link TransformError} for anything that is not a {@link "./context".TransformResult}, and
 * for more than `maxActions` actions. Source: docs/use/transforms.md.
 */
export function readResult(
  value: unknown,
  { maxActions }: { readonly maxActions: number },
): readonly (TransformAction | undefined)[] {
  if (value === null) return [];
  // Whatever is falsy is no override, as transforms that end in `condition && { ... }` rely on.
  if (!value) return [undefined];
  if (!Array.isArray(value)) return [readAction(value, "")];
  const count = value.filter((entry: unknown) => entry !== null).length;
  if (count > maxActions) throw refused(`returned ${count} actions; hooks.maxFanOut allows ${maxActions}`);
  return value.flatMap((entry: unknown, at) => (entry === null ? [] : [readAction(entry, `[${at}]`)]));
}

function readAction(value: unknown, where: string): TransformAction {
  // Of a sandbox it is data already; a module in this process returns what it likes.
  const isNone = Array.isArray(value) || unfinishedName(value) !== undefined;
  if (typeof value !== "object" || value === null || isNone) {
    throw refused(`has to return an object, an array of objects, null or undefined${where && `; look at ${where}`}`);
  }
  const issues = check(value);
  if (issues.length === 0) return value;
  const problems = issues
    .slice(0, MAX_REPORTED)
    .map(({ path, message }) => `${where}${where && path && "."}${path}: ${message}`);
  throw refused(`returned no action: ${problems.join("; ")}`);
}

function refused(message: string): TransformError {
  return new TransformError("failed", message);
}
