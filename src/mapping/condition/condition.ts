import type { CelEnv, CelInput, CelValue, plan } from "@bufbuild/cel";
import { cel } from "../../config/cel.ts";
import { type ConditionPath, readCondition } from "../../config/condition-syntax.ts";
import type { PayloadContext } from "../../core/delivery.ts";
import { ConditionBudget, unitsPerItem } from "./budget.ts";
import { conditionEnvironment } from "./functions.ts";
import { ConditionValues } from "./values.ts";

const MAX_SHOWN = 100;

/** A value of a request as the reason of a miss shows it: on one line, cut to 100 characters. */
export function showSeen(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(cutText(value, MAX_SHOWN));
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** A text on one line, cut to so many characters. */
function cutText(text: string, maxCharacters: number): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}...` : text;
  return cut.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
}

/** A `when`, made ready. */
export interface CompiledCondition {
  /** The reason why a request does not meet it, with the values seen; `undefined` when it does. Never throws. */
  miss(context: PayloadContext): string | undefined;
}

const MAX_SHOWN_EXPRESSION = 200;
const MAX_SHOWN_READS = 5;
const MAX_SHOWN_PATH = 100;

const budget = new ConditionBudget();
let environment: CelEnv | undefined;

/**
 * Compiles a condition in CEL over `payload` (as parsed), `headers`, `query`, `event` (empty when it is not
 * known) and `actor` (a map of `name`, `id` and `bot`; `sender` is its earlier name). Throws when
 * {@link readCondition} refuses it.
 *
 * Only `true` meets it. A condition that cannot be evaluated, such as a comparison with a missing field, is a miss.
 */
export function compileCondition(source: string): CompiledCondition {
  const syntax = readCondition(source);
  if (!syntax.ok) throw new TypeError(`The condition ${syntax.problem}.`);
  const weight = unitsPerItem(syntax.expression);
  environment ??= conditionEnvironment(budget);
  const evaluate = cel().plan(environment, syntax.expression);
  const shown = cutText(source.replaceAll(/\s+/g, " ").trim(), MAX_SHOWN_EXPRESSION);
  return {
    miss(context) {
      const variables = variablesOf(context);
      const result = withoutStacks(() => {
        budget.begin(weight);
        try {
          return evaluate(bindingsOf(variables));
        } catch (error) {
          // A payload that is too large to be shown at all, or a getter in it that throws.
          return cel().celError(error);
        }
      });
      if (result === true) return undefined;
      const seen = showReads(syntax.reads, variables);
      return `when: ${shown} ${wordResult(result)}${seen === "" ? "" : `; ${seen}`}`;
    },
  };
}

/**
 * The library reports a failed evaluation as an Error, possibly one for each item of a list; where it was
 * made is of no interest, and to find out takes most of the time.
 */
function withoutStacks<Result>(evaluate: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return evaluate();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

type Variables = Readonly<Record<string, unknown>>;

function variablesOf({ payload, headers, query, event = "", actor }: PayloadContext): Variables {
  const { name = "", id = "", bot = false, role = "", level = "unknown" } = actor ?? {};
  const known = { name, id, bot, role, level };
  return { payload, headers, query, event, actor: known, sender: known };
}

function bindingsOf(variables: Variables): Record<string, CelInput> {
  const values = new ConditionValues(budget);
  // Without a prototype, whose names the library would find.
  const bindings = Object.create(null) as Record<string, CelInput>;
  for (const [name, value] of Object.entries(variables)) bindings[name] = values.show(value) as CelInput;
  return bindings;
}

function wordResult(result: ReturnType<ReturnType<typeof plan>>): string {
  if (cel().isCelError(result)) return `cannot be evaluated: ${wordError(result.message)}`;
  return result === false ? "is false" : `is neither true nor false but ${kindOf(result)}`;
}

function wordError(message: string): string {
  const cut = cutText(message, MAX_SHOWN_EXPRESSION);
  // The library does not know how long the list is.
  return cut.replace(/ out of bounds \[0, -1\)$/, " is out of bounds");
}

function kindOf(value: CelValue): string {
  if (value === null) return "null";
  if (typeof value === "string") return "a text";
  const { isCelList, isCelMap } = cel();
  if (isCelList(value)) return "a list";
  if (isCelMap(value)) return "an object";
  return typeof value === "object" ? "something else" : "a number";
}

/** `payload.action = "closed", payload.merged is missing`. */
function showReads(reads: readonly ConditionPath[], variables: Variables): string {
  const shown = reads.slice(0, MAX_SHOWN_READS).map((path) => {
    const name = cutText(showPath(path), MAX_SHOWN_PATH);
    const found = lookUp(path, variables);
    return found === undefined ? `${name} is missing` : `${name} = ${showSeen(found.value)}`;
  });
  return reads.length > MAX_SHOWN_READS ? `${shown.join(", ")} ...` : shown.join(", ");
}

function showPath([variable, ...keys]: ConditionPath): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === "string" && /^[A-Za-z_]\w*$/.test(key)) return `${path}.${key}`;
    return `${path}[${JSON.stringify(key)}]`;
  }, String(variable));
}

/** Finds what the condition itself would find there. */
function lookUp(path: ConditionPath, variables: Variables): { readonly value: unknown } | undefined {
  try {
    let value: unknown = variables;
    for (const key of path) {
      if (typeof value !== "object" || value === null) return undefined;
      if (Array.isArray(value) !== (typeof key === "number") || !Object.hasOwn(value, key)) return undefined;
      value = (value as Record<string | number, unknown>)[key];
    }
    return { value };
  } catch {
    // Of a getter that throws; only a preset's code can make one.
    return undefined;
  }
}
