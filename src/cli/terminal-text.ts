/** Control characters, and those that turn the direction of writing: a terminal would obey them. */
// eslint-disable-next-line no-control-regex -- these are what is looked for
const OBEYED = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

/** A text that someone sent, on one line and without what a terminal would obey; cut to `maxChars`. */
export function printable(text: string, maxChars: number = Infinity): string {
  const cut = text.length <= maxChars ? text : `${text.slice(0, maxChars).toWellFormed()}…`;
  return cut.replaceAll(OBEYED, (character) => (/\s/u.test(character) ? " " : "�"));
}

/** The same for a text of several lines, which stay. */
export function printableLines(text: string): string {
  return text
    .split(/\r?\n/u)
    .map((line) =>
      line
        .split("\t")
        .map((part) => printable(part))
        .join("\t"),
    )
    .join("\n");
}
