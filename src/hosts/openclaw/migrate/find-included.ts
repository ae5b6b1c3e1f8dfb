import { isIncluded } from "./host-facts.ts";
import { fieldsAt } from "./fields.ts";
import type { Fields } from "./fields.ts";

/** Objects that adopting reads whole or writes into. */
const OURS = [
  [],
  ["hooks"],
  ["hooks", "gmail"],
  ["plugins"],
  ["plugins", "entries"],
  ["plugins", "entries", "reveille"],
  ["plugins", "entries", "reveille", "config"],
] as const;

/** Why a configuration that is spread over several files cannot be adopted, if so. */
export function includeProblem(config: Fields): string | undefined {
  const way = OURS.find((keys) => isIncluded(fieldsAt(config, ...keys)));
  if (way === undefined) return undefined;
  const where = way.length === 0 ? "The configuration" : way.join(".");
  const what = way[0] === "hooks" || way.length === 0 ? "the hooks block" : `the section plugins`;
  return (
    `${where} takes in another file by $include, which is not edited here. ` +
    `Write ${what} into the configuration itself and take the $include away, then adopt again; ` +
    "the other file may go on holding the other sections."
  );
}
