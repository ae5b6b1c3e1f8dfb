/** What a person who looks at a text does not see, and a model would read. */
import {
  COMMENT_END,
  COMMENT_START,
  ELEMENT_MARK,
  withoutHiddenElements,
  withoutHidingTags,
} from "./hidden-elements.ts";

/**
 * Characters that hide or reorder text: bidirectional controls, tag characters, zero-width spaces, operators and
 * fillers; and joiners and variation selectors where no script or emoji is written with them.
 */
export const HIDDEN = new RegExp(
  [
    String.raw`[\p{Bidi_Control}\u{E0000}-\u{E007F}\u{1D173}-\u{1D17A}\u00AD\u034F\u17B4\u17B5\u180E\u200B\u2060-\u2064\u206A-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]+`,
    // More than one in a row.
    String.raw`(?<=[\u200C\u200D])[\u200C\u200D]+`,
    String.raw`(?<=[\uFE00-\uFE0F\u{E0100}-\u{E01EF}])[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]+`,
    // Behind what has no variants: anything but an ideograph; ASCII but the digits, # and * of keycaps.
    String.raw`(?<!\p{Script=Han})[\u{E0100}-\u{E01EF}]+`,
    String.raw`(?<=[\0-"$-)+-/:-\x7F])[\uFE00-\uFE0F]+`,
  ].join("|"),
  "gu",
);

/** An image or a file inside of a text; a short one may be an example. */
const DATA_URL = /data:[\w.+-]{1,60}\/[\w.+-]{1,60}(?:;[\w=.+-]{1,60}){0,4},[A-Za-z0-9+/=%_-]{64,}/gi;
const REMOVED_URL = "[data URL]";

/** What a text is, and so what of it its readers do not see. `html` for a text that is not known. */
export type TextKind = "html" | "markdown" | "plain";

/** How much was taken out of a text, by kind. */
export interface HiddenCounts {
  readonly characters: number;
  readonly comments: number;
  readonly elements: number;
  readonly urls: number;
}

export interface SeenText {
  readonly text: string;
  readonly counts: HiddenCounts;
}

const NOTHING: HiddenCounts = { characters: 0, comments: 0, elements: 0, urls: 0 };

/**
 * Takes hidden characters and data URLs out of a text; comments, unless it is plain text, which shows them; and
 * elements that are hidden, where it is HTML. Linear in its length; a comment without an end stays, since it hides
 * nothing in a plain text.
 */
export function removeHidden(content: string, kind: TextKind = "html"): SeenText {
  if (!mayHide(content)) return { text: content, counts: NOTHING };
  let characters = 0;
  let elements = 0;
  let urls = 0;
  const withoutElements = kind === "html" ? withoutHiddenElements(content) : content;
  const shown = withoutElements
    .replace(HIDDEN, (run) => {
      for (const char of run) {
        if (char === ELEMENT_MARK) elements++;
        else characters++;
      }
      return "";
    })
    .replace(DATA_URL, () => {
      urls++;
      return REMOVED_URL;
    });
  const { text, comments } = kind === "plain" ? { text: shown, comments: 0 } : withoutComments(shown, kind);
  return { text, counts: { characters, comments, elements, urls } };
}

/**
 * The text as {@link removeHidden} leaves it, as a part of a longer one: whatever that is taken for, nothing that begins
 * in this part ends in another, and hides those between.
 */
export function partOfText(content: string, kind?: TextKind): string {
  const { text } = removeHidden(content, kind);
  return text.includes("<") ? withoutHidingTags(text.replaceAll(COMMENT_START, "<! -")) : text;
}

/** The string of JSON, with its quotes. One that is cut goes on to the end: else each of its quotes would be a start. */
const JSON_STRING = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)/gsu;

/** A text that may be JSON: each of its strings is a part by itself, since someone else may have written the next one. */
export function partsOfJson(content: string): SeenText {
  const counts = { ...NOTHING };
  if (!/^\s*[[{]/u.test(content)) return { text: content, counts };
  const text = content.replace(JSON_STRING, (written) => {
    const value = stringOf(written);
    const part = value === undefined ? value : partOfText(value);
    if (value === undefined || part === value) return written;
    for (const [kind, count] of Object.entries(removeHidden(value).counts)) counts[kind as keyof HiddenCounts] += count;
    return JSON.stringify(part);
  });
  return { text, counts };
}

function stringOf(written: string): string | undefined {
  try {
    return JSON.parse(written) as string;
  } catch {
    return undefined;
  }
}

/** True of every text in which something is hidden, and of few others; a RegExp for it takes seven times as long. */
function mayHide(text: string): boolean {
  if (Buffer.byteLength(text) !== text.length || text.includes("<")) return true;
  for (let colon = text.indexOf(":"); colon !== -1; colon = text.indexOf(":", colon + 1)) {
    if (text[colon - 1] === "]" || text.slice(Math.max(0, colon - 4), colon).toLowerCase() === "data") return true;
  }
  return false;
}

/** The counts in words: `14 hidden characters and 1 comment`; empty when nothing was taken out. */
export function describeHidden({ characters, comments, elements, urls }: HiddenCounts): string {
  const parts = [
    counted(characters, "hidden character", "hidden characters"),
    counted(comments, "comment", "comments"),
    counted(elements, "hidden element", "hidden elements"),
    counted(urls, "data URL", "data URLs"),
  ];
  return parts.filter((part) => part !== "").join(" and ");
}

/** A line of markdown that defines a link to nowhere shows nothing: its title is a comment. */
const UNSHOWN_LINE =
  /^ {0,3}\[[^\]\n]{1,100}\]:[ \t]{0,9}(?:<>|#)[ \t]{0,9}(?:"[^\n]*"|'[^\n]*'|\([^\n]*\))?[ \t]*$\n?/gmu;

function withoutComments(written: string, kind: TextKind): { readonly text: string; readonly comments: number } {
  const parts: string[] = [];
  let done = 0;
  let lines = 0;
  const content =
    kind === "markdown"
      ? written.replace(UNSHOWN_LINE, () => {
          lines++;
          return "";
        })
      : written;
  for (;;) {
    const start = content.indexOf(COMMENT_START, done);
    if (start === -1) break;
    COMMENT_END.lastIndex = start + 2;
    if (!COMMENT_END.test(content)) break;
    parts.push(content.slice(done, start));
    done = COMMENT_END.lastIndex;
  }
  return { text: done === 0 ? content : parts.join("") + content.slice(done), comments: parts.length + lines };
}

function counted(count: number, one: string, many: string): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
}
