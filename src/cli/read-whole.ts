import { InvalidArgumentError } from "commander";

/** Reads an option that is a whole number within bounds, both allowed. */
export function readWhole(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/u.test(text) ? Number(text) : NaN;
    if (!(value >= minimum && value <= maximum)) {
      throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
    }
    return value;
  };
}
