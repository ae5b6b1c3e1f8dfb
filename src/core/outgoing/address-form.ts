/** Where an address ends that stands in a form of markdown or HTML, and not in a sentence. */

/** What opens a form, and the quote or angle bracket behind it. */
const OPENING = /(?<=(\]\(|\]:|url\(|=)\s*(?:(["'<])\s*)?|(<))/iuy;

/**
 * Two slashes at the begin of an address in a form. They come first in the pattern: a look back from each white space
 * would take a time that grows with the square of a run of it.
 */
export const SLASHES_IN_FORM = String.raw`(?=[\\/]{2}[^\s<])(?<=(?:\]\(|\]:|url\(|=)\s*(?:["'<]\s*)?)[\\/]{2}`;

/**
 * The names of what is fetched over the network. Behind one, browsers take slashes that are turned or missing; without
 * any, only what is an address already is one.
 */
export const SCHEMES = "(?:https?|ftps?|wss?):";
export const SCHEME_IN_FORM = String.raw`${SCHEMES}(?=[^\s<>"'\x60()\]\\/])(?<=(?:\]\(|\]:|url\(|=|<)\s*(?:["'<]\s*)?${SCHEMES})`;

const LINE_END = /[\r\n]|$/u;
const WHITE_SPACE = /\s|$/u;
const UNQUOTED_END = /[\s>]|$/u;
/** An address with a title, as markdown has them. */
const TITLED = /^(\S*)\s+(?:"[^"]*"|'[^']*'|\([^()]*\))$/u;

/** All that a program could take for an address, up to the end of the form that it stands in. */
export interface AddressForm {
  readonly text: string;
  /** False for one that is too long to be read to its end. */
  readonly complete: boolean;
  /** Characters that were read, also white space around the address. */
  readonly read: number;
  /** In quotes or angle brackets: white space does not end it. */
  readonly quoted: boolean;
  /** What ends a sentence may stand behind it, as behind an address in plain text. */
  readonly loose: boolean;
}

/** The form that the address at an index stands in, as far as it may be read; `undefined`: it stands in a sentence. */
export function readForm(text: string, index: number, maxRead: number): AddressForm | undefined {
  OPENING.lastIndex = index;
  const opened = OPENING.exec(text);
  if (opened === null) return undefined;
  const [, opening, quote = opened[3]] = opened;
  const rest = text.slice(index, index + maxRead);
  const end = endOf(rest, opening, quote);
  const whole = rest.slice(0, end).trim();
  const titled = opening === undefined || opening === "=" || quote === '"' || quote === "'" ? null : TITLED.exec(whole);
  return {
    text: titled?.[1] ?? whole,
    complete: end < rest.length || index + rest.length === text.length,
    read: end,
    quoted: quote !== undefined,
    loose: (opening === "=" || opening === "]:") && quote === undefined,
  };
}

/** The same of an address in a list of images, which ends at an index: with white space, and a comma that parts it. */
export function readListed(text: string, index: number, { maxRead, listEnd }: ListBounds): AddressForm {
  const rest = text.slice(index, Math.min(index + maxRead, listEnd));
  const end = WHITE_SPACE.exec(rest)!.index;
  let last = end;
  while (rest[last - 1] === ",") last--;
  return {
    text: rest.slice(0, last),
    complete: end < rest.length || index + rest.length === listEnd,
    read: end,
    quoted: true,
    loose: false,
  };
}

interface ListBounds {
  readonly maxRead: number;
  readonly listEnd: number;
}

function endOf(rest: string, opening: string | undefined, quote: string | undefined): number {
  if (quote === '"' || quote === "'") {
    const end = rest.indexOf(quote);
    // An attribute goes on over line ends, which browsers drop.
    if (end !== -1) return end;
  }
  if (opening === "=" && quote === undefined) return UNQUOTED_END.exec(rest)!.index;
  // With anything but a title behind it, a line defines no address of markdown, and is a sentence.
  if (opening === "]:" && quote === undefined) return WHITE_SPACE.exec(rest)!.index;
  const lineEnd = LINE_END.exec(rest)!.index;
  if (quote === "<") return closingOf(rest.slice(0, lineEnd), undefined, ">");
  if (opening === "](" || opening?.toLowerCase() === "url(") return closingOf(rest.slice(0, lineEnd), "(", ")");
  return lineEnd;
}

/** Markdown lets brackets stand in an address in pairs, and any behind a backslash. */
function closingOf(line: string, opening: string | undefined, closing: string): number {
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    const char = line[at];
    if (char === "\\") at++;
    else if (char === opening) depth++;
    else if (char === closing && depth-- === 0) return at;
  }
  return line.length;
}
