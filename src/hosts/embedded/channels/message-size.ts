/** How large a part of a message is for its platform, once it is formatted. */
import type { HttpChannelData } from "./http-presets.ts";
import { formatMarkdown } from "./markdown.ts";

/** What a text of markdown counts against `maxChars` of its channel, by the channel's measure. */
export function messageSize(
  markdown: string,
  { format, measure }: Pick<HttpChannelData, "format" | "measure">,
): number {
  const text = formatMarkdown(markdown, format);
  switch (measure) {
    case "bytes":
      // With the escapes that JSON adds: the whole body has a limit as well. Without the two quotes.
      return Buffer.byteLength(JSON.stringify(text)) - 2;
    case "shown":
      return format === "html" ? shownOf(text).length : text.length;
    default:
      return text.length;
  }
}

/** The formatted text escapes what is no markup of ours, so each tag and each escape is one. */
function shownOf(html: string): string {
  return html.replaceAll(/<[^>]*>/gu, "").replaceAll(/&(?:amp|lt|gt|quot);/gu, "-");
}
