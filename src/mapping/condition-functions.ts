import { celEnv, celFunc, CelScalar, listType } from "@bufbuild/cel";
import type { CelEnv, CelFunc, CelList, CelValue } from "@bufbuild/cel";
import type { ConditionBudget } from "./condition-budget.ts";
import { chargedList } from "./condition-values.ts";

/** Functions that read a text as a number or a time: their work grows faster than the text. */
const CONVERSIONS: ReadonlySet<string> = new Set(["int", "uint", "double", "timestamp", "duration"]);
const MAX_CONVERTED = 100;
/** A pattern is compiled each time it is used. */
const MATCH_UNITS = 100;
/** Of a function of the same name for other types; where none suits, an error is made. */
const MISMATCH_UNITS = 0.25;
/** Of a function that looks up a time zone. */
const TIME_ZONE_UNITS = 200;

/**
 * The functions of conditions: those of CEL, each charged to the budget by what it goes over; and
 * arithmetic between the numbers of a payload, which are doubles, and whole numbers as people write them.
 */
export function conditionEnvironment(budget: ConditionBudget): CelEnv {
  const functions = [...mixedArithmetic(), joinedLists(budget)];
  const ids = new Set(functions.map(({ id }) => id));
  const standard = [...celEnv().funcs].filter(({ id }) => !ids.has(id));
  return celEnv({ funcs: [...standard, ...functions].map((func) => charged(func, budget)) });
}

/** The same function, which throws and does not merely fail when the budget is used up. */
function charged(func: CelFunc, budget: ConditionBudget): CelFunc {
  const { name } = func;
  return Object.assign(Object.create(func) as CelFunc, {
    call(id: number, target: CelValue | undefined, args: CelValue[]) {
      const texts = textOf(target) + args.reduce<number>((sum, arg) => sum + textOf(arg), 0);
      if (CONVERSIONS.has(name) && texts > MAX_CONVERTED) throw new Error(`${name}() was given too long a text`);
      const result = func.call(id, target, args);
      if (result === undefined) {
        budget.charge(MISMATCH_UNITS);
        return undefined;
      }
      if (name === "matches") budget.charge(MATCH_UNITS + texts);
      else if (name.startsWith("get") && args.length > 0) budget.charge(TIME_ZONE_UNITS);
      // It goes over characters one by one.
      else if (name === "size") budget.chargeText(texts * 32);
      else budget.chargeText(texts);
      return result;
    },
  });
}

function textOf(value: CelValue | undefined): number {
  return typeof value === "string" ? value.length : 0;
}

const { DOUBLE, INT } = CelScalar;

function mixedArithmetic(): CelFunc[] {
  const operations: readonly [name: string, (left: number, right: number) => number][] = [
    ["_+_", (left, right) => left + right],
    ["_-_", (left, right) => left - right],
    ["_*_", (left, right) => left * right],
    ["_/_", (left, right) => left / right],
    ["_%_", (left, right) => left % right],
  ];
  return operations.flatMap(([name, operate]) => [
    celFunc(name, [DOUBLE, DOUBLE], DOUBLE, operate),
    celFunc(name, [DOUBLE, INT], DOUBLE, (left, right) => operate(left, Number(right))),
    celFunc(name, [INT, DOUBLE], DOUBLE, (left, right) => operate(Number(left), right)),
  ]);
}

/** Lists that grow in a macro are kept flat: the library's own are nested once for each item. */
function joinedLists(budget: ConditionBudget): CelFunc {
  const list = listType(CelScalar.DYN);
  return celFunc("_+_", [list, list], list, (left, right) => {
    const items = [...itemsOf(left), ...itemsOf(right)];
    budget.chargeText(items.length * 8);
    return chargedList(items, budget);
  });
}

function itemsOf(list: CelList): Iterable<CelValue> {
  return "items" in list ? (list.items as readonly CelValue[]) : list;
}
