/** Elements that an HTML page or mail holds and does not show. */

/** Stands where an element was: a character that no one sees, which is counted when it is taken out. */
export const ELEMENT_MARK = "\uFFF9";

/** Elements whose content is no text of the page. */
const UNSHOWN: ReadonlySet<string> = new Set(["head", "script", "style", "template", "title"]);
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
const NAME = /^<(\/?)([a-z][a-z0-9:-]{0,30})(?=[\s/>])/iu;
const HIDDEN_ATTRIBUTE = /\shidden(?=[\s=/>])/iu;
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
const STYLE = /\sstyle\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*))/iu;
/** One without an end goes on to the end; to look for each end again would take a time that grows with the square. */
const COMMENT = /\/\*.*?(?:\*\/|$)/gsu;
/** More of one tag is not read: it would be no tag of a page. */
const MAX_TAG = 20_000;

/**
 * Takes elements out of HTML that are hidden by `hidden` or by their own style; each leaves a {@link ELEMENT_MARK}. Of a
 * whole `document` also those go that hold no text of the page, and one that does not end hides all that follows; in a
 * text that only has some HTML, it stays. What a style sheet hides is not recognized. Linear in the length of the text.
 */
export function withoutHiddenElements(
  html: string,
  { document = false }: { readonly document?: boolean } = {},
): string {
  if (!html.includes("<")) return html;
  let shown = "";
  let from = 0;
  let hidden: { readonly name: string; depth: number } | undefined;
  for (const tag of tagsOf(html)) {
    if (hidden !== undefined) {
      if (tag.name === hidden.name) hidden.depth += tag.isEnd ? -1 : tag.isVoid ? 0 : 1;
      if (hidden.depth > 0) continue;
      if (!UNSHOWN.has(hidden.name)) shown += ELEMENT_MARK;
      hidden = undefined;
      from = tag.end;
    } else if (!tag.isEnd && (isHidden(tag) || (document && UNSHOWN.has(tag.name)))) {
      shown += html.slice(from, tag.start) + (tag.isVoid ? ELEMENT_MARK : "");
      from = tag.isVoid ? tag.end : tag.start;
      if (!tag.isVoid) hidden = { name: tag.name, depth: 1 };
    }
  }
  return hidden === undefined || !document ? shown + html.slice(from) : shown;
}

interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly isVoid: boolean;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function* tagsOf(html: string): Generator<Tag> {
  let at = 0;
  for (;;) {
    const start = html.indexOf("<", at);
    if (start === -1) return;
    const [whole, slash = "", written = ""] = NAME.exec(html.slice(start, start + 40)) ?? [];
    if (whole === undefined) {
      at = start + 1;
      continue;
    }
    const end = endOfTag(html, start + whole.length);
    const name = written.toLowerCase();
    const text = html.slice(start, Math.min(end, start + MAX_TAG));
    const isVoid = VOID.has(name);
    yield { name, isEnd: slash !== "", isVoid, text, start, end };
    at = end;
    // What these hold are no tags.
    if (slash === "" && (name === "script" || name === "style")) {
      const close = html.slice(end).search(new RegExp(`</${name}(?=[\\s/>])`, "iu"));
      if (close === -1) return;
      at = end + close;
    }
  }
}

/** The offset behind a tag, whose quoted values may hold `>`; the end of the text when it has none. */
function endOfTag(html: string, from: number): number {
  const ends = /[>"']/gu;
  ends.lastIndex = from;
  for (;;) {
    const found = ends.exec(html);
    if (found === null) return html.length;
    if (found[0] === ">") return found.index + 1;
    const close = html.indexOf(found[0], found.index + 1);
    if (close === -1) return html.length;
    ends.lastIndex = close + 1;
  }
}

function isHidden({ text }: Tag): boolean {
  if (HIDDEN_ATTRIBUTE.test(text.replaceAll(/"[^"]*"|'[^']*'/gu, "''"))) return true;
  const [, double, single, bare] = STYLE.exec(text) ?? [];
  const style = (double ?? single ?? bare ?? "").replaceAll(COMMENT, "");
  return HIDDEN_STYLE.test(style);
}
