/** What is left of HTML where it is shown as text: parts of an address may stand on both sides of a tag. */

const TAG = /<[/!?a-z][^<>]*>/giu;
const TAG_START = /<[/!?a-z]/giu;
/** The end of a tag, or the quote that a value of it begins with. */
const TAG_PART = />|=\s*(["'])/gu;
/** What is on a line or in a cell of its own is not joined with what is around it. */
const BREAKS =
  /^<\/?(?:br|hr|p|div|li|[uod]l|d[td]|h[1-6]|t[rdh]|table|thead|tbody|tfoot|caption|pre|blockquote|section|article|header|footer|main|aside|nav|figure|figcaption|details|summary|form|fieldset|option|select|address)(?![^\s/>])/iu;

/** The text as programs read it that end a tag with the first bracket, and as browsers do, which know values in quotes. */
export function readingsWithoutTags(text: string): readonly string[] {
  if (!text.includes("<")) return [];
  return [text.replace(TAG, shownAs), withoutQuotedTags(text)];
}

function shownAs(tag: string): string {
  return BREAKS.test(tag) ? "\n" : "";
}

function withoutQuotedTags(text: string): string {
  const shown: string[] = [];
  let from = 0;
  for (;;) {
    TAG_START.lastIndex = from;
    const start = TAG_START.exec(text)?.index;
    const end = start === undefined ? undefined : endOfTag(text, start);
    // A tag without an end hides all that follows; looked for again, it would take a time that grows with the square.
    if (start === undefined || end === undefined) return shown.join("") + text.slice(from);
    shown.push(text.slice(from, start), shownAs(text.slice(start, end)));
    from = end;
  }
}

function endOfTag(text: string, start: number): number | undefined {
  TAG_PART.lastIndex = start;
  for (let part = TAG_PART.exec(text); part !== null; part = TAG_PART.exec(text)) {
    const quote = part[1];
    if (quote === undefined) return TAG_PART.lastIndex;
    const closed = text.indexOf(quote, TAG_PART.lastIndex);
    if (closed === -1) return undefined;
    TAG_PART.lastIndex = closed + 1;
  }
  return undefined;
}
