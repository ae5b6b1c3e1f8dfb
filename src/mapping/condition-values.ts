import { celList, celMap } from "@bufbuild/cel";
import type { CelList, CelMap, CelValue } from "@bufbuild/cel";
import type { ConditionBudget } from "./condition-budget.ts";

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
      shown = Array.isArray(value)
        ? chargedList(
            value.map((item) => this.show(item)),
            this.#budget,
          )
        : this.#showMap(value);
      this.#shown.set(value, shown);
    }
    return shown;
  }

  #showMap(value: object): CelMap {
    const properties = new JsonMap(value as Readonly<Record<string, unknown>>, this, this.#budget);
    // The library's own takes a key whose value is `null` for one that is not there.
    return Object.assign(celMap(properties), { has: (key: unknown) => properties.has(key) });
  }
}

/** A list that knows its items, so that joining two takes no pass over the joints inside them. */
export interface ChargedList extends CelList {
  readonly items: readonly CelValue[];
}

/** A list that charges for each look and each pass. */
export function chargedList(items: readonly CelValue[], budget: ConditionBudget): ChargedList {
  const list = celList(items);
  return Object.assign(list, {
    items,
    get: (index: number): CelValue | undefined => {
      budget.charge(1);
      return Number.isInteger(index) ? items[index] : undefined;
    },
    values: (): IterableIterator<CelValue> => {
      budget.charge(items.length);
      return items.values();
    },
  });
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
    this.#budget.charge(1);
    return typeof key === "string" && Object.hasOwn(this.#properties, key);
  }

  get(key: unknown): CelValue | undefined {
    return this.has(key) ? this.#values.show(this.#properties[key as string]) : undefined;
  }

  keys(): MapIterator<string> {
    this.#budget.charge(this.size);
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
    return (this.#keys ??= Object.keys(this.#properties));
  }
}
