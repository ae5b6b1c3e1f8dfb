/** What a pattern costs each time it is used, in units of the budget. */
export interface PatternCost {
  /** It is compiled each time. */
  readonly units: number;
  readonly unitsPerCharacter: number;
}

const UNITS_PER_STEP = 50;
/** Of `\p{...}`: tables of Unicode. */
const PROPERTY_UNITS = 5_000;
/** As long as the states of the automaton that the library builds are few. */
const FEW_STATES_UNITS = 1.5;
/** For each step of the pattern, when they are not. */
const MANY_STATES_UNITS = 0.4;
/** With so few steps there are at most some hundred states. */
const MAX_FEW_STEPS = 7;
/** Words and alternatives of words: no more states than characters. */
const WORDS = /^(?:\(\?i\))?\^?(?:[^\\^$.|?*+()[\]{}]|\\[^\w\s]|\|)*\$?$/;
const WORDS_UNITS = 0.005;

/**
 * What a pattern of `matches` may cost at most. RE2 takes time in proportion to the text, but for each
 * character up to the length of the pattern with its repetitions written out: `a(a|b){900}` takes a
 * thousand times as long as `a+`.
 */
export function costOfPattern(pattern: string): PatternCost {
  const steps = stepsOf(pattern);
  const properties = pattern.match(/\\p/gi)?.length ?? 0;
  return {
    units: UNITS_PER_STEP * (1 + steps) + PROPERTY_UNITS * properties,
    unitsPerCharacter: FEW_STATES_UNITS + extraOf(pattern, steps),
  };
}

function extraOf(pattern: string, steps: number): number {
  if (steps <= MAX_FEW_STEPS) return 0;
  return steps * (WORDS.test(pattern) ? WORDS_UNITS : MANY_STATES_UNITS);
}

/** An escape, a class, a repetition, or any other character. */
const TOKEN =
  /\\Q(?:(?!\\E)[\s\S])*(?:\\E)?|\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\[\s\S]|[^\]])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/** The length of a pattern when its repetitions are written out. */
function stepsOf(pattern: string): number {
  /** The steps of each group that is open, and of the whole. */
  const open: number[] = [0];
  let sum = 0;
  let last = 0;
  for (const [token, least, most] of pattern.matchAll(TOKEN)) {
    if (least !== undefined) {
      const more = last * Math.max(Number(least), Number(most === "" ? 0 : (most ?? 0)));
      sum += more;
      last += more;
    } else if (token === "(") {
      open.push(sum);
      sum = 1;
      last = 0;
    } else if (token === ")") {
      last = sum;
      sum += open.pop() ?? 0;
    } else {
      last = token.startsWith("\\Q") ? token.length : 1;
      sum += last;
    }
  }
  return sum + open.reduce((outer, steps) => outer + steps, 0);
}
