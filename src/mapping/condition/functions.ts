import type { CelEnv, CelFunc, CelList, CelValue } from "@bufbuild/cel";
import { cel } from "../../config/cel.ts";
import { type ConditionBudget, costOfPattern } from "./budget.ts";
import { chargedList } from "./values.ts";

/** A pattern that the engine finds in one pass of any text. */
const MAX_PLAIN = 6;
const CANDIDATE_UNITS = 1.5;

/**
 * True when a text contains another. The engine's own search may compare the two at every place, which takes
 * seconds for a text of 256 KiB that is made for it: here each place where they begin alike is charged.
 */
export function containsText(text: string, part: string, budget: ConditionBudget): boolean {
  budget.chargeText(text.length * 2 + part.length);
  if (part.length <= MAX_PLAIN) return text.includes(part);
  const start = part.slice(0, MAX_PLAIN);
  const last = text.length - part.length;
  for (let at = text.indexOf(start); at !== -1 && at <= last; at = text.indexOf(start, at + 1)) {
    budget.charge(CANDIDATE_UNITS);
    budget.chargeCompared(part.length);
    if (text.slice(at, at + part.length) === part) return true;
  }
  return false;
}

/** Functions that read a text as a number or a time: their work grows faster than the text. */
const CONVERSIONS: ReadonlySet<string> = new Set(["int", "uint", "double", "timestamp", "duration"]);
const MAX_CONVERTED = 100;
/** Of functions that take more than a look at a value, whatever it is. */
const FUNCTION_UNITS: Readonly<Record<string, number>> = {
  timestamp: 20,
  duration: 20,
  bytes: 10,
  type: 5,
  int: 2,
  string: 2,
  double: 2,
};
/** Of functions that take a time apart. */
const TIME_PART_UNITS = 15;
/** Of those that look up a time zone. */
const TIME_ZONE_UNITS = 600;
/** Of a function of the same name for other types; where none suits, an error is made. */
const MISMATCH_UNITS = 1.5;
/** For each byte, which are gone over one by one, as many as for characters of a text. */
const CHARACTERS_PER_BYTE = 16;

/**
 * The functions of conditions: those of CEL, each charged to the budget by what it goes over; and
 * arithmetic between the numbers of a payload, which are doubles, and whole numbers as people write them.
 */
export function conditionEnvironment(budget: ConditionBudget): CelEnv {
  const functions = [...mixedArithmetic(), joinedLists(budget), contains(budget), ...sizes(budget)];
  const ids = new Set(functions.map(({ id }) => id));
  const { celEnv } = cel();
  const standard = [...celEnv().funcs].filter(({ id }) => !ids.has(id));
  return celEnv({ funcs: [...standard, ...functions].map((func) => charged(func, budget)) });
}

/** The same function, which throws and does not merely fail when the budget is used up. */
function charged(func: CelFunc, budget: ConditionBudget): CelFunc {
  const { name } = func;
  const base = (Object.hasOwn(FUNCTION_UNITS, name) ? FUNCTION_UNITS[name] : undefined) ?? 0;
  const isTimePart = name.startsWith("get");
  return Object.assign(Object.create(func) as CelFunc, {
    call(id: number, target: CelValue | undefined, args: CelValue[]) {
      const texts = textOf(target) + args.reduce<number>((sum, arg) => sum + textOf(arg), 0);
      if (CONVERSIONS.has(name) && texts > MAX_CONVERTED) throw new Error(`${name}() was given too long a text`);
      if (name === "matches") chargePattern(target, args, budget);
      const result = func.call(id, target, args);
      if (result === undefined) {
        budget.charge(MISMATCH_UNITS);
        return undefined;
      }
      budget.charge(base);
      if (isTimePart) budget.charge(args.length > 0 ? TIME_ZONE_UNITS : TIME_PART_UNITS);
      budget.chargeText(texts);
      return result;
    },
  });
}

/** Before it is used, since one use may take too long. */
function chargePattern(target: CelValue | undefined, args: readonly CelValue[], budget: ConditionBudget): void {
  const [text, pattern] = target === undefined ? args : [target, args[0]];
  if (typeof text !== "string" || typeof pattern !== "string") return;
  const { units, unitsPerCharacter } = costOfPattern(pattern);
  budget.charge(units + unitsPerCharacter * text.length);
}

function textOf(value: CelValue | undefined): number {
  if (typeof value === "string") return value.length;
  return value instanceof Uint8Array ? value.length * CHARACTERS_PER_BYTE : 0;
}

function mixedArithmetic(): CelFunc[] {
  const { celFunc, CelScalar } = cel();
  const { DOUBLE, INT } = CelScalar;
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

function contains(budget: ConditionBudget): CelFunc {
  const { celMethod, CelScalar } = cel();
  const { BOOL, STRING } = CelScalar;
  return celMethod("contains", STRING, [STRING], BOOL, function (part) {
    return containsText(this, part, budget);
  });
}

/** The library's own makes a list of all characters first. */
function sizes(budget: ConditionBudget): CelFunc[] {
  const { celFunc, celMethod, CelScalar } = cel();
  const { INT, STRING } = CelScalar;
  const sizeOf = (text: string): bigint => {
    budget.chargeText(text.length * 16);
    let size = 0;
    for (let at = 0; at < text.length; size++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    return BigInt(size);
  };
  return [
    celFunc("size", [STRING], INT, sizeOf),
    celMethod("size", STRING, [], INT, function () {
      return sizeOf(this);
    }),
  ];
}

/** Lists that grow in a macro are kept flat: the library's own are nested once for each item. */
function joinedLists(budget: ConditionBudget): CelFunc {
  const { celFunc, CelScalar, listType } = cel();
  const list = listType(CelScalar.DYN);
  return celFunc("_+_", [list, list], list, (left, right) => {
    budget.chargeText((left.size + right.size) * 16);
    return chargedList(itemsOf(left).concat(itemsOf(right)), budget);
  });
}

function itemsOf(list: CelList): readonly CelValue[] {
  return "items" in list ? (list.items as readonly CelValue[]) : Array.from(list);
}
