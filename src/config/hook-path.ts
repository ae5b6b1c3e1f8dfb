import type { Findings } from "./errors.ts";
import { asPrefix, prefixProblem } from "./hook-prefix.ts";
import { HooksSchema } from "./hooks.ts";

/** The prefix of all hooks as routes compare it; blank is the default. */
export function readHookPath(written: string | undefined, findings: Findings): string {
  const path = asPrefix(written?.trim() || HooksSchema.properties.path.default);
  const problem = prefixProblem(path);
  if (problem !== undefined) findings.refuse("hooks.path", problem);
  return path;
}
