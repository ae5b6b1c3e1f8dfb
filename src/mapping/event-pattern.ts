import { compileIgnorePattern } from "./ignore-pattern.ts";

/** The `events` of a mapping, made ready. */
export interface EventPatterns {
  /** True when any of the events of a request, joined with `+` where there are several, is one of them. */
  take(event: string): boolean;
}

/**
 * Compiles a list of event names: without regard to case, `*` stands for any characters. Names without
 * `*` are looked up at a cost that does not grow with their number.
 */
export function compileEventPatterns(patterns: readonly string[]): EventPatterns {
  const names = new Set(patterns.filter((pattern) => !pattern.includes("*")).map((name) => name.toLowerCase()));
  const wild = patterns.filter((pattern) => pattern.includes("*")).map(compileIgnorePattern);
  const takes = (event: string): boolean =>
    names.has(event.toLowerCase()) || wild.some((pattern) => pattern.matches(event));
  return { take: (event) => takes(event) || (event.includes("+") && event.split("+").some(takes)) };
}
