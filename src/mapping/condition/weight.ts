import type { ConditionSyntax } from "../../config/condition-syntax.ts";

type Expression = ConditionSyntax["expression"];
type Comprehension = Extract<Expression["exprKind"], { case: "comprehensionExpr" }>["value"];

/** Of each part of an expression, besides what its functions are charged; in units of the budget. */
const PART_UNITS = 0.1;
/** Of a look at a property: one that is missing makes an error. */
const LOOK_UNITS = 5;
/** Of an object that stands in the expression, and of each of its entries. */
const ENTRY_UNITS = 3;
const MACRO_UNITS = 6;

/**
 * What a condition takes at most for one item of a list that a macro goes over, in units of the budget: the
 * library asks nobody before it evaluates literals, operators and looks at properties.
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
    // Lists that stand in the expression itself are the library's own, and charge nothing.
    return (
      MACRO_UNITS + this.read(iterRange) + this.read(accuInit) + this.read(result) + body * (1 + literals(iterRange))
    );
  }
}

/** How many items the lists and maps that stand in an expression have. */
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
