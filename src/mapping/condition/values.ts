import type { CelList, CelMap, CelValue } from "@bufbuild/cel";
import { cel } from "../../config/cel.ts";
import type { ConditionBudget } from "./budget.ts";

/** Of showing an object or a list, and each item of a list, whether it is looked at or not. */
const SHOW_MAP_UNITS = 3;
const SHOW_LIST_UNITS = 6;
const SHOW_ITEM_UNITS = 0.1;

/**
 * Shows JSON data to a condition without copying it: only own properties, whatever their names, and each
 * look and each pass is charged. What is neither JSON data nor a whole number of any size is `null`.
 *
 * The library's own conversion is not used for data from outside: it copies every object that is passed
 * through, and takes some for its own messages or refuses them by the names of their properties.
 */
export class ConditionValues {
  readonly #budget: ConditionBudget;
  readonly #shown = new Map<object, CelValue>();

  constructor(budget: ConditionBudget) {
    this.#budget = budget;
  }

  show(value: unknown): CelValue {
    switch (typeof value) {
      case "string":
      case "number":
      case "boolean":
      case "bigint":
        return value;
      case "object":
        return value === null ? null : this.#showObject(value);
      default:
        return null;
    }
  }

  #showObject(value: object): CelValue {
    let shown = this.#shown.get(value);
    if (shown === undefined) {
      shown = Array.isArray(value) ? this.#showList(value) : this.#showMap(value);
      this.#shown.set(value, shown);
    }
    return shown;
  }

  #showList(value: readonly unknown[]): CelList {
    this.#budget.charge(SHOW_LIST_UNITS + value.length * SHOW_ITEM_UNITS);
    return chargedList(
      value.map((item) => this.show(item)),
      this.#budget,
    );
  }

  #showMap(value: object): CelMap {
    this.#budget.charge(SHOW_MAP_UNITS);
    const properties = new JsonMap(value as Readonly<Record<string, unknown>>, this, this.#budget);
    // The library's own takes a key whose value is `null` for one that is not there.
    return Object.assign(cel().celMap(properties), { has: (key: unknown) => properties.has(key) });
  }
}

/** A list that knows its items, so that joining two takes no pass over the joints inside them. */
export interface ChargedList extends CelList {
  readonly items: readonly CelValue[];
}

/** A list that charges for each look and each pass. */
export function chargedList(items: readonly CelValue[], budget: ConditionBudget): ChargedList {
  let characters: number | undefined;
  return Object.assign(cel().celList(items), {
    items,
    get: (index: number): CelValue | undefined => {
      budget.charge(1);
      const item = Number.isInteger(index) ? items[index] : undefined;
      budget.chargeCompared(charactersOf(item));
      return item;
    },
    values: (): IterableIterator<CelValue> => {
      budget.chargeItems(items.length);
      characters ??= items.reduce<number>((sum, item) => sum + charactersOf(item), 0);
      budget.chargeCompared(characters);
      return items.values();
    },
  });
}

function charactersOf(value: CelValue | undefined): number {
  return typeof value === "string" ? value.length : 0;
}

class JsonMap implements ReadonlyMap<string, CelValue> {
  readonly #properties: Readonly<Record<string, unknown>>;
  readonly #values: ConditionValues;
  readonly #budget: ConditionBudget;
  #keys: readonly string[] | undefined;

  constructor(properties: Readonly<Record<string, unknown>>, values: ConditionValues, budget: ConditionBudget) {
    this.#properties = properties;
    this.#values = values;
    this.#budget = budget;
  }

  get size(): number {
    return this.#names().length;
  }

  has(key: unknown): boolean {
    // The look itself is charged with the item that it is for; a long name is read.
    this.#budget.chargeText(typeof key === "string" ? key.length : 0);
    return typeof key === "string" && Object.hasOwn(this.#properties, key);
  }

  get(key: unknown): CelValue | undefined {
    if (!this.has(key)) return undefined;
    const value = this.#values.show(this.#properties[key as string]);
    this.#budget.chargeCompared(charactersOf(value));
    return value;
  }

  keys(): MapIterator<string> {
    this.#budget.chargeItems(this.size);
    return this.#names().values();
  }

  *entries(): MapIterator<[string, CelValue]> {
    for (const name of this.keys()) yield [name, this.#values.show(this.#properties[name])];
  }

  *values(): MapIterator<CelValue> {
    for (const [, value] of this.entries()) yield value;
  }

  forEach(each: (value: CelValue, key: string, map: ReadonlyMap<string, CelValue>) => void): void {
    for (const [name, value] of this.entries()) each(value, name, this);
  }

  [Symbol.iterator](): MapIterator<[string, CelValue]> {
    return this.entries();
  }

  #names(): readonly string[] {
    if (this.#keys === undefined) {
      this.#keys = Object.keys(this.#properties);
      this.#budget.charge(this.#keys.length);
    }
    return this.#keys;
  }
}
