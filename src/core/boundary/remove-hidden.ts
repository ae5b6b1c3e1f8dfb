/** What a person who looks at a text does not see, and a model would read. */

/**
 * Characters that hide or reorder text: bidirectional controls, tag characters, zero-width spaces and operators.
 * Joiners and variation selectors stay, since scripts and emoji are written with them.
 */
export const HIDDEN =
  /[\p{Bidi_Control}\u{E0000}-\u{E007F}\u00AD\u180E\u200B\u2060-\u2064\u206A-\u206F\uFEFF\uFFF9-\uFFFB]+/gu;

/** An image or a file inside of a text; a short one may be an example. */
const DATA_URL = /data:[\w.+-]{1,60}\/[\w.+-]{1,60}(?:;[\w=.+-]{1,60}){0,4},[A-Za-z0-9+/=%_-]{64,}/gi;
const REMOVED_URL = "[data URL]";

const COMMENT_START = "<!--";
const COMMENT_END = "-->";

export interface SeenText {
  readonly text: string;
  /** What was taken out, in words: `14 hidden characters and 1 comment`; empty when nothing was. */
  readonly removed: string;
}

/**
 * Takes hidden characters, HTML comments and data URLs out of a text. Linear in its length; a comment without an end
 * stays, since it hides nothing in a plain text.
 */
export function removeHidden(content: string): SeenText {
  let characters = 0;
  let urls = 0;
  const shown = content
    .replace(HIDDEN, (run) => {
      characters += Array.from(run).length;
      return "";
    })
    .replace(DATA_URL, () => {
      urls++;
      return REMOVED_URL;
    });
  const { text, comments } = withoutComments(shown);
  const removed = [
    counted(characters, "hidden character", "hidden characters"),
    counted(comments, "comment", "comments"),
    counted(urls, "data URL", "data URLs"),
  ].filter((part) => part !== "");
  return { text, removed: removed.join(" and ") };
}

function withoutComments(content: string): { readonly text: string; readonly comments: number } {
  const parts: string[] = [];
  let done = 0;
  for (;;) {
    const start = content.indexOf(COMMENT_START, done);
    const end = start === -1 ? -1 : content.indexOf(COMMENT_END, start + COMMENT_START.length);
    if (end === -1) break;
    parts.push(content.slice(done, start));
    done = end + COMMENT_END.length;
  }
  return { text: done === 0 ? content : parts.join("") + content.slice(done), comments: parts.length };
}

function counted(count: number, one: string, many: string): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
}
