import type { CelEnv, parse, plan } from "@bufbuild/cel";
import { cel } from "./cel.ts";
import { shorten } from "./show-value.ts";
import { showNames } from "./show-value.ts";

/** A condition taken apart: the expression, and which places of the request it reads. */
export interface ConditionSyntax {
  readonly ok: true;
  readonly expression: Expression;
  /** Each once, in the order in which they are written there. */
  readonly reads: readonly ConditionPath[];
}

/** The reason why a text is no condition, for its author. */
export interface ConditionProblem {
  readonly ok: false;
  readonly problem: string;
}

/** A place of the request: the variable, then keys and indexes. */
export type ConditionPath = readonly (string | number)[];

type Expression = ReturnType<typeof parse>["expr"];
type Call = Extract<Expression["exprKind"], { case: "callExpr" }>["value"];
type Comprehension = Extract<Expression["exprKind"], { case: "comprehensionExpr" }>["value"];

/** The variables of a condition. */
const CONDITION_VARIABLES = ["payload", "headers", "query", "event", "actor"] as const;

/** `sender` is the earlier name of `actor`. */
const VARIABLES: ReadonlySet<string> = new Set([...CONDITION_VARIABLES, "sender"]);
/** The types that `type(x)` can be compared with. */
const TYPES: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "int",
  "list",
  "map",
  "null_type",
  "string",
  "type",
  "uint",
]);
/** Each level multiplies the work by the items of a list of the payload. */
const MAX_MACRO_DEPTH = 2;

interface Standard {
  readonly environment: CelEnv;
  /** `matches` with the variable `pattern`. */
  readonly matching: ReturnType<typeof plan>;
}

let made: Standard | undefined;

/** Made with the first condition. */
function standard(): Standard {
  if (made === undefined) {
    const { celEnv, parse, plan } = cel();
    const environment = celEnv();
    made = { environment, matching: plan(environment, parse("''.matches(pattern)")) };
  }
  return made;
}

/**
 * Reads a condition in CEL (https://cel.dev) and refuses what could never work: names and functions that
 * there are not, patterns that are no regular expressions or are not written in the condition itself,
 * macros that are nested more than twice.
 */
export function readCondition(source: string): ConditionSyntax | ConditionProblem {
  try {
    const { expr } = cel().parse(source);
    const reader = new ConditionReader();
    reader.read(expr);
    return { ok: true, expression: expr, reads: reader.reads };
  } catch (error) {
    return { ok: false, problem: problemOf(error, source) };
  }
}

class ConditionFault extends Error {}

function problemOf(error: unknown, source: string): string {
  if (error instanceof ConditionFault) return error.message;
  const start = (error as { location?: { start?: { offset: number; line: number; column: number } } }).location?.start;
  if (start === undefined) return "is nested too deeply";
  const rest = source.slice(start.offset).trim();
  const where = `at line ${start.line}, column ${start.column}`;
  return `is not a CEL expression: ${rest === "" ? `it ends too early, ${where}` : `${JSON.stringify(shorten(rest))} is not expected ${where}`}`;
}

/** Walks an expression; throws a {@link ConditionFault} where it cannot work. */
class ConditionReader {
  readonly #reads = new Map<string, ConditionPath>();
  /** Names that macros give to items, innermost last. */
  readonly #bound: string[] = [];
  #depth = 0;

  get reads(): readonly ConditionPath[] {
    return [...this.#reads.values()];
  }

  read(expression: Expression | undefined): void {
    if (expression === undefined) return;
    const path = this.#pathOf(expression);
    if (path !== undefined) {
      this.#reads.set(JSON.stringify(path), path);
      return;
    }
    const { exprKind } = expression;
    switch (exprKind.case) {
      case "identExpr":
        this.#checkName(exprKind.value.name);
        return;
      case "selectExpr":
        this.read(exprKind.value.operand);
        return;
      case "callExpr":
        this.#readCall(exprKind.value);
        return;
      case "listExpr":
        for (const element of exprKind.value.elements) this.read(element);
        return;
      case "structExpr":
        if (exprKind.value.messageName !== "") throw new ConditionFault(`${exprKind.value.messageName} is not known`);
        for (const { keyKind, value } of exprKind.value.entries) {
          if (keyKind.case === "mapKey") this.read(keyKind.value);
          this.read(value);
        }
        return;
      case "comprehensionExpr":
        this.#readMacro(exprKind.value);
        return;
      default:
        return;
    }
  }

  #readCall({ function: name, target, args }: Call): void {
    if (/^[A-Za-z]/.test(name)) this.#checkFunction(name, args);
    this.read(target);
    for (const arg of args) this.read(arg);
  }

  #checkFunction(name: string, args: readonly Expression[]): void {
    if (standard().environment.funcs.find(name) === undefined) throw new ConditionFault(`has no function ${name}()`);
    if (name !== "matches") return;
    const pattern = constantOf(args[0]);
    if (typeof pattern !== "string") {
      throw new ConditionFault("calls matches() with something else than a text in quotes");
    }
    if (cel().isCelError(standard().matching({ pattern }))) {
      throw new ConditionFault(
        `has a pattern that is not a regular expression (RE2): ${JSON.stringify(shorten(pattern))}`,
      );
    }
  }

  #readMacro({ iterVar, accuVar, iterRange, accuInit, loopCondition, loopStep, result }: Comprehension): void {
    if (this.#depth === MAX_MACRO_DEPTH) {
      throw new ConditionFault(`nests exists(), all(), map() and filter() more than ${MAX_MACRO_DEPTH} deep`);
    }
    this.read(iterRange);
    this.read(accuInit);
    this.#depth++;
    this.#bound.push(iterVar, accuVar);
    for (const part of [loopCondition, loopStep, result]) this.read(part);
    this.#bound.length -= 2;
    this.#depth--;
  }

  #checkName(written: string): void {
    const name = written.replace(/^\./, "");
    if (this.#bound.includes(name) || VARIABLES.has(name) || TYPES.has(name)) return;
    throw new ConditionFault(
      `${JSON.stringify(shorten(name))} is not known; known are ${showNames(CONDITION_VARIABLES)}`,
    );
  }

  /** The place that an expression reads; `undefined` when it is something else or depends on an item. */
  #pathOf({ exprKind }: Expression): ConditionPath | undefined {
    if (exprKind.case === "identExpr") {
      const { name } = exprKind.value;
      return VARIABLES.has(name) && !this.#bound.includes(name) ? [name] : undefined;
    }
    if (exprKind.case === "selectExpr") {
      const { operand, field } = exprKind.value;
      return this.#below(operand, field);
    }
    if (exprKind.case !== "callExpr" || exprKind.value.function !== "_[_]") return undefined;
    const [operand, index] = exprKind.value.args;
    const key = constantOf(index);
    return key === undefined ? undefined : this.#below(operand, typeof key === "bigint" ? Number(key) : key);
  }

  #below(operand: Expression | undefined, key: string | number): ConditionPath | undefined {
    const path = operand && this.#pathOf(operand);
    return path && [...path, key];
  }
}

/** A literal text or whole number. */
function constantOf(expression: Expression | undefined): string | bigint | undefined {
  if (expression?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expression.exprKind.value;
  return constantKind.case === "stringValue" || constantKind.case === "int64Value" ? constantKind.value : undefined;
}
