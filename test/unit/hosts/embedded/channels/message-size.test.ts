import { expect, it } from "vitest";
import { HTTP_CHANNEL_PRESETS } from "../../../../../src/hosts/embedded/channels/http-presets.ts";
import { formatMarkdown } from "../../../../../src/hosts/embedded/channels/markdown.ts";
import { messageSize } from "../../../../../src/hosts/embedded/channels/message-size.ts";
import { splitText } from "../../../../../src/hosts/embedded/channels/split-text.ts";

const TEXT = "**a** & [<b>](https://ci.example/7?a=1&b=2)";

it("a text counts as it is sent, with its marks and escapes", () => {
  expect(messageSize(TEXT, { format: "markdown", maxChars: 100 })).toBe(TEXT.length);
  const html = '<b>a</b> &amp; <a href="https://ci.example/7?a=1&amp;b=2">&lt;b&gt;</a>';
  expect(messageSize(TEXT, { format: "html", maxChars: 100 })).toBe(html.length);
});

it("neither marks nor addresses count where the platform counts what it shows", () => {
  expect(messageSize(TEXT, { format: "html", measure: "shown", maxChars: 100 })).toBe("a & <b>".length);
  expect(messageSize("a <b> &lt;", { format: "plain", measure: "shown", maxChars: 100 })).toBe("a <b> &lt;".length);
});

it("a text has more parts where it has more marks than the platform shows, or larger ones than it takes", () => {
  const telegram = { format: "html", measure: "shown", maxChars: 4_096 } as const;
  expect(HTTP_CHANNEL_PRESETS["telegram"]).toMatchObject(telegram);
  const partsOf = (text: string): string[] => [
    ...splitText(text, telegram.maxChars, (part) => messageSize(part, telegram)),
  ];
  const marks = (count: number): string => Array.from({ length: count }, (_, at) => `**${at}**`).join("\n");
  expect(partsOf(marks(100))).toHaveLength(1);
  const parts = partsOf(marks(250));
  expect(parts.join("\n")).toBe(marks(250));
  for (const part of parts) expect(formatMarkdown(part, "html").split("<b>").length - 1).toBeLessThanOrEqual(100);

  const links = Array.from({ length: 60 }, (_, at) => `[${at}](https://ci.example/${"a".repeat(300)})`).join("\n");
  const linked = partsOf(links);
  expect(linked.join("\n")).toBe(links);
  for (const part of linked) expect(formatMarkdown(part, "html").length).toBeLessThan(9_500);
});

it("bytes are those of the text in JSON", () => {
  expect(messageSize('語é😀\n"', { format: "plain", measure: "bytes", maxChars: 100 })).toBe(3 + 2 + 4 + 2 + 2);
});
