/** Elements that an HTML page or mail holds and does not show. */
import { decodeReferences } from "../outgoing/secret-index.ts";

/** Stands where an element was: a character that no one sees, which is counted when it is taken out. */
export const ELEMENT_MARK = "\uFFF9";

/** Elements whose content is no text of the page; `!` is a comment. */
const UNSHOWN: ReadonlySet<string> = new Set(["!", "head", "script", "style", "template", "title"]);
/** Elements without an end. */
const VOID: ReadonlySet<string> = new Set([
  "area",
  "base",
  "br",
  "col",
  "embed",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "source",
  "track",
  "wbr",
]);
export const COMMENT_START = "<!--";
/** As browsers read it; looked for from the dashes of the start on, since `<!-->` is a whole comment. */
export const COMMENT_END = /--!?>/gu;
/** As browsers read it: all up to white space, a slash or the bracket. */
const NAME = /<(\/?)([a-z][^\s/>]*)/iuy;
/** With what stands before it, as browsers read it. A quote that is not closed goes on to the end of the text. */
const ATTRIBUTE = /[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|$)|'([^']*)(?:'|$)|([^\s>"'][^\s>]*)?))?/uy;
/** A zero, not the start of a larger number. */
const ZERO = String.raw`0*(?:\.0+)?(?:px|pt|em|rem|ex|ch|vw|vh|%)?\s*(?![\d.])`;
const HIDDEN_STYLE = new RegExp(
  [
    String.raw`display\s*:\s*none`,
    String.raw`visibility\s*:\s*(?:hidden|collapse)`,
    String.raw`mso-hide\s*:\s*all`,
    String.raw`(?<![\w-])color\s*:\s*transparent`,
    String.raw`(?:font-size|opacity|max-height|max-width)\s*:\s*(?=[0.])${ZERO}`,
    String.raw`(?:text-indent|left|top)\s*:\s*-\d{3,}`,
  ].join("|"),
  "iu",
);
/** One without an end goes on to the end; to look for each end again would take a time that grows with the square. */
const COMMENT = /\/\*.*?(?:\*\/|$)/gsu;
const ESCAPE = /\\([\da-f]{1,6})\s?/giu;

/**
 * Takes elements out of HTML that are hidden by `hidden` or by their own style; each leaves a {@link ELEMENT_MARK}. Of a
 * whole `document` also those go that hold no text of the page, and what does not end hides all that follows; in a text
 * that only has some HTML, it stays. `isBare`, as of a document: also comments go, and the attributes of all other tags. What a style sheet hides is not recognized.
 * Linear in the length of the text.
 */
export function withoutHiddenElements(
  html: string,
  { document = false, isBare = document }: { readonly document?: boolean; readonly isBare?: boolean } = {},
): string {
  if (!html.includes("<")) return html;
  let shown = "";
  let from = 0;
  let hidden: { readonly name: string; depth: number } | undefined;
  let ended: ReadonlySet<number> | undefined;
  const ends = ({ start, isVoid }: Tag): boolean => isVoid || document || (ended ??= hiddenWithEnd(html)).has(start);
  for (const tag of tagsOf(html)) {
    if (document && tag.isOpen) return hidden === undefined ? shown + html.slice(from, tag.start) : shown;
    if (hidden !== undefined) {
      if (tag.name === hidden.name) hidden.depth += tag.isEnd ? -1 : tag.isVoid ? 0 : 1;
      if (hidden.depth > 0) continue;
      if (!UNSHOWN.has(hidden.name)) shown += ELEMENT_MARK;
      hidden = undefined;
      from = tag.end;
    } else if (!tag.isEnd && ((tag.isHidden && ends(tag)) || (document && UNSHOWN.has(tag.name)))) {
      shown += html.slice(from, tag.start) + (tag.isVoid && tag.isHidden ? ELEMENT_MARK : "");
      from = tag.isVoid ? tag.end : tag.start;
      if (!tag.isVoid) hidden = { name: tag.name, depth: 1 };
    } else if (isBare && !tag.isOpen) {
      shown += html.slice(from, tag.start) + bareTag(tag);
      from = tag.end;
    }
  }
  return hidden === undefined ? shown + html.slice(from) : shown;
}

/** Without its attributes, which a reader who knows no quotes would take for text. */
function bareTag({ name, isEnd }: Tag): string {
  return /^[a-z][a-z0-9]*$/u.test(name) ? `<${isEnd ? "/" : ""}${name}>` : "";
}

/** Where the hidden elements begin that have an end; to look for it from each of them would take a time that grows with the square. */
function hiddenWithEnd(html: string): ReadonlySet<number> {
  const ended = new Set<number>();
  const open = new Map<string, number[]>();
  for (const { name, isEnd, isHidden, start } of tagsOf(html)) {
    const starts = open.get(name) ?? [];
    open.set(name, starts);
    const opened = isEnd ? starts.pop() : undefined;
    if (opened !== undefined) ended.add(opened);
    if (!isEnd) starts.push(isHidden ? start : -1);
  }
  return ended;
}

/** The same text with a blank in each tag that could hide a text behind it: one that hides, or goes on to the end. */
export function withoutHidingTags(html: string): string {
  let shown = "";
  let from = 0;
  for (const { start, end, isEnd, isHidden, isOpen } of tagsOf(html)) {
    if (!isOpen && (isEnd || !isHidden)) continue;
    const to = isOpen ? html.length : end;
    shown += html.slice(from, start) + html.slice(start, to).replaceAll("<", "< ");
    from = to;
  }
  return shown + html.slice(from);
}

interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly isVoid: boolean;
  /** By an attribute of its own. */
  readonly isHidden: boolean;
  /** It has no bracket at its end, or holds all that follows, as a script does. */
  readonly isOpen: boolean;
  readonly start: number;
  readonly end: number;
}

function* tagsOf(html: string): Generator<Tag> {
  let at = 0;
  let isEnded = true;
  for (;;) {
    const start = html.indexOf("<", at);
    if (start === -1) return;
    if (isEnded && html.startsWith(COMMENT_START, start)) {
      COMMENT_END.lastIndex = start + 2;
      isEnded = COMMENT_END.test(html);
      at = isEnded ? COMMENT_END.lastIndex : start + 1;
      yield { name: "!", isEnd: false, isVoid: true, isHidden: false, isOpen: !isEnded, start, end: at };
      continue;
    }
    NAME.lastIndex = start;
    const [whole, slash = "", written = ""] = NAME.exec(html) ?? [];
    if (whole === undefined) {
      at = start + 1;
      continue;
    }
    const { end, isHidden, isOpen } = readAttributes(html, start + whole.length);
    const name = written.toLowerCase();
    const isEnd = slash !== "";
    at = end;
    // What these hold are no tags.
    const isRaw = !isEnd && (name === "script" || name === "style");
    const close = isRaw ? html.slice(end).search(new RegExp(`</${name}(?=[\\s/>])`, "iu")) : 0;
    yield { name, isEnd, isVoid: VOID.has(name), isHidden, isOpen: isOpen || close === -1, start, end };
    if (close === -1) return;
    at += close;
  }
}

/** Whether the attributes hide the element, and the offset behind the tag; the end of the text when it has none. */
function readAttributes(html: string, from: number): Pick<Tag, "end" | "isHidden" | "isOpen"> {
  let isHidden = false;
  let style: string | undefined;
  let at = from;
  for (;;) {
    ATTRIBUTE.lastIndex = at;
    const found = ATTRIBUTE.exec(html);
    if (found === null) break;
    at = ATTRIBUTE.lastIndex;
    const [, written = "", double, single, bare] = found;
    const name = written.toLowerCase();
    if (name === "hidden") isHidden = true;
    // Of a name that is repeated, the first counts.
    if (name === "style") style ??= double ?? single ?? bare ?? "";
  }
  const close = html.indexOf(">", at);
  const isOpen = close === -1;
  return { end: isOpen ? html.length : close + 1, isHidden: isHidden || hides(style), isOpen };
}

function hides(style: string | undefined): boolean {
  if (style === undefined) return false;
  const escaped = decodeReferences(style).replaceAll(COMMENT, "").replaceAll(ESCAPE, "&#x$1;");
  return HIDDEN_STYLE.test(decodeReferences(escaped).replaceAll("\\", ""));
}
