/** An entry of `ignoreActors`, made ready. */
export interface IgnorePattern {
  readonly pattern: string;
  matches(name: string): boolean;
}

/**
 * Compiles an entry of `ignoreActors`: a name without regard to case, in which `*` stands for any
 * characters. Matching takes time in proportion to both lengths at most; there is no backtracking.
 */
export function compileIgnorePattern(pattern: string): IgnorePattern {
  const [first = "", ...rest] = pattern.toLowerCase().split("*");
  if (rest.length === 0) return { pattern, matches: (name) => name.toLowerCase() === first };
  const last = rest.pop()!;
  return {
    pattern,
    matches(name) {
      const text = name.toLowerCase();
      if (!text.startsWith(first) || text.length < first.length + last.length) return false;
      let at = first.length;
      for (const piece of rest) {
        const found = text.indexOf(piece, at);
        if (found === -1) return false;
        at = found + piece.length;
      }
      return at <= text.length - last.length && text.endsWith(last);
    },
  };
}
