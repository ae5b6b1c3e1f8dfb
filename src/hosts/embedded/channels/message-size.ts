/** How large a part of a message is for its platform, once it is formatted. */
import type { HttpChannelData } from "./http-presets.ts";
import { formatMarkdown } from "./markdown.ts";

/**
 * Marks that Telegram shows in one message: it ignores those that follow. It refuses a message whose marks are too large,
 * with the addresses of links; of that it documents neither, and its developers name about 9,500 characters.
 */
const MAX_MARKS = 100;
const MAX_MARKUP_CHARS = 9_000;

/** What a text of markdown counts against `maxChars` of its channel, by the channel's measure. */
export function messageSize(
  markdown: string,
  { format, measure, maxChars }: Pick<HttpChannelData, "format" | "measure" | "maxChars">,
): number {
  const text = formatMarkdown(markdown, format);
  switch (measure) {
    case "bytes":
      // With the escapes that JSON adds: the whole body has a limit as well. Without the two quotes.
      return Buffer.byteLength(JSON.stringify(text)) - 2;
    case "shown":
      return format === "html" ? shownSize(text, maxChars) : text.length;
    default:
      return text.length;
  }
}

/**
 * What is shown, or the share of its limit that the markup takes where that is larger. The formatted text escapes what is
 * no markup of ours, so each tag and each escape is one.
 */
function shownSize(html: string, maxChars: number): number {
  const bare = html.replaceAll(/<[^>]*>/gu, "");
  const shown = bare.replaceAll(/&(?:amp|lt|gt|quot);/gu, "-").length;
  const marks = html.split("</").length - 1;
  const share = Math.max(marks / MAX_MARKS, (html.length - bare.length) / MAX_MARKUP_CHARS);
  return Math.max(shown, Math.ceil(share * maxChars));
}
