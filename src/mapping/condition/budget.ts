import type { ConditionSyntax } from "../../config/condition-syntax.ts";

type Expression = ConditionSyntax["expression"];
type Comprehension = Extract<Expression["exprKind"], { case: "comprehensionExpr" }>["value"];

/** Of each part of an expression, besides what its functions are charged; in units of the budget. */
const PART_UNITS = 0.1;
/** Of a look at a property: one that is missing makes an error. */
const LOOK_UNITS = 5;
/** Of an object literal, and of each of its entries. */
const ENTRY_UNITS = 3;
const MACRO_UNITS = 6;

/**
 * The highest cost of one item of a list in a macro, in units of the budget: the
 * library does not ask before it evaluates literals, operators and looks at properties.
 */
export function unitsPerItem(expression: Expression): number {
  const reader = new WeightReader();
  reader.read(expression);
  return 1 + reader.heaviest;
}

class WeightReader {
  /** Of the bodies of all macros. */
  heaviest = 0;

  read(expression: Expression | undefined): number {
    if (expression === undefined) return 0;
    const { exprKind } = expression;
    switch (exprKind.case) {
      case "selectExpr":
        return LOOK_UNITS + this.read(exprKind.value.operand);
      case "callExpr": {
        const { function: name, target, args } = exprKind.value;
        return (name === "_[_]" ? LOOK_UNITS : PART_UNITS) + this.read(target) + this.#readAll(args);
      }
      case "listExpr":
        return PART_UNITS + this.#readAll(exprKind.value.elements);
      case "structExpr":
        return exprKind.value.entries.reduce((sum, { keyKind, value }) => {
          const key = keyKind.case === "mapKey" ? keyKind.value : undefined;
          return sum + ENTRY_UNITS + this.read(key) + this.read(value);
        }, ENTRY_UNITS);
      case "comprehensionExpr":
        return this.#readMacro(exprKind.value);
      default:
        return PART_UNITS;
    }
  }

  #readAll(expressions: readonly Expression[]): number {
    return expressions.reduce((sum, expression) => sum + this.read(expression), 0);
  }

  #readMacro({ iterRange, accuInit, loopCondition, loopStep, result }: Comprehension): number {
    const body = this.read(loopCondition) + this.read(loopStep);
    this.heaviest = Math.max(this.heaviest, body);
    // List literals belong to the library and charge nothing.
    return (
      MACRO_UNITS + this.read(iterRange) + this.read(accuInit) + this.read(result) + body * (1 + literals(iterRange))
    );
  }
}

/** The number of items of the list and map literals of an expression. */
function literals(expression: Expression | undefined): number {
  if (expression === undefined) return 0;
  const { exprKind } = expression;
  const sum = (parts: readonly Expression[]): number => parts.reduce((all, part) => all + literals(part), 0);
  switch (exprKind.case) {
    case "listExpr":
      return exprKind.value.elements.length + sum(exprKind.value.elements);
    case "structExpr":
      return exprKind.value.entries.reduce((all, { value }) => all + 1 + literals(value), 0);
    case "callExpr":
      return literals(exprKind.value.target) + sum(exprKind.value.args);
    case "selectExpr":
      return literals(exprKind.value.operand);
    case "comprehensionExpr":
      return literals(exprKind.value.iterRange) + literals(exprKind.value.loopStep);
    default:
      return 0;
  }
}

/** The cost of one use of a pattern, in units of the budget. */
interface PatternCost {
  /** It is compiled each time. */
  readonly units: number;
  readonly unitsPerCharacter: number;
}

const UNITS_PER_STEP = 50;
/** Of `\p{...}`: tables of Unicode. */
const PROPERTY_UNITS = 5_000;
/** As long as the states of the automaton that the library builds are few. */
const FEW_STATES_UNITS = 1.5;
/** For each step of the pattern, when they are not. */
const MANY_STATES_UNITS = 0.4;
/** With so few steps there are at most some hundred states. */
const MAX_FEW_STEPS = 7;
/** Words and alternatives of words: no more states than characters. */
const WORDS = /^(?:\(\?i\))?\^?(?:[^\\^$.|?*+()[\]{}]|\\[^\w\s]|\|)*\$?$/;
const WORDS_UNITS = 0.005;

/**
 * The highest cost of a pattern of `matches`. RE2 takes time in proportion to the text, but for each
 * character up to the length of the pattern with its repetitions written out: `a(a|b){900}` takes a
 * thousand times as long as `a+`.
 */
export function costOfPattern(pattern: string): PatternCost {
  const steps = stepsOf(pattern);
  const properties = pattern.match(/\\p/gi)?.length ?? 0;
  return {
    units: UNITS_PER_STEP * (1 + steps) + PROPERTY_UNITS * properties,
    unitsPerCharacter: FEW_STATES_UNITS + extraOf(pattern, steps),
  };
}

function extraOf(pattern: string, steps: number): number {
  if (steps <= MAX_FEW_STEPS) return 0;
  return steps * (WORDS.test(pattern) ? WORDS_UNITS : MANY_STATES_UNITS);
}

/** An escape, a class, a repetition, or any other character. */
const TOKEN =
  /\\Q(?:(?!\\E)[\s\S])*(?:\\E)?|\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\[\s\S]|[^\]])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/** The length of a pattern when its repetitions are written out. */
function stepsOf(pattern: string): number {
  /** The steps of each group that is open, and of the whole. */
  const open: number[] = [0];
  let sum = 0;
  let last = 0;
  for (const [token, least, most] of pattern.matchAll(TOKEN)) {
    if (least !== undefined) {
      const more = last * Math.max(Number(least), Number(most === "" ? 0 : (most ?? 0)));
      sum += more;
      last += more;
    } else if (token === "(") {
      open.push(sum);
      sum = 1;
      last = 0;
    } else if (token === ")") {
      last = sum;
      sum += open.pop() ?? 0;
    } else {
      last = token.startsWith("\\Q") ? token.length : 1;
      sum += last;
    }
  }
  return sum + open.reduce((outer, steps) => outer + steps, 0);
}

/**
 * The highest cost of one evaluation of a condition, in units of about a tenth of a microsecond: it keeps no other
 * call waiting for more than some 50 ms. The work is counted and not timed, so that the same payload has the
 * same outcome on a busy machine.
 */
const MAX_UNITS = 500_000;
/** Characters of a text that a function goes over within one unit. */
const CHARACTERS_PER_UNIT = 256;
/** Characters of two texts that are compared within one unit. */
const COMPARED_PER_UNIT = 2_048;

/** Counts the work of one evaluation at a time, and ends one that takes too much. */
export class ConditionBudget {
  #left = 0;
  #unitsPerItem = 1;

  /** To be called before each evaluation, with what the expression takes for an item of a list. */
  begin(unitsPerItem = 1): void {
    this.#left = MAX_UNITS;
    this.#unitsPerItem = unitsPerItem;
  }

  /** Throws once the evaluation has used up what it had, and from then on. */
  charge(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new Error("takes too much work for this payload");
  }

  /** Charges for a pass over items, each of which the expression may look at. */
  chargeItems(items: number): void {
    this.charge(items * this.#unitsPerItem);
  }

  /** Charges for a function that goes over texts once. */
  chargeText(characters: number): void {
    this.charge(1 + characters / CHARACTERS_PER_UNIT);
  }

  /** Charges for texts that may be compared with others. */
  chargeCompared(characters: number): void {
    this.charge(characters / COMPARED_PER_UNIT);
  }
}
