import { expect, it } from "vitest";
import { messageSize } from "../../../../../src/hosts/embedded/channels/message-size.ts";

const TEXT = "**a** & [<b>](https://ci.example/7?a=1&b=2)";

it("a text counts as it is sent, with its marks and escapes", () => {
  expect(messageSize(TEXT, { format: "markdown" })).toBe(TEXT.length);
  const html = '<b>a</b> &amp; <a href="https://ci.example/7?a=1&amp;b=2">&lt;b&gt;</a>';
  expect(messageSize(TEXT, { format: "html" })).toBe(html.length);
});

it("neither marks nor addresses count where the platform counts what it shows", () => {
  expect(messageSize(TEXT, { format: "html", measure: "shown" })).toBe("a & <b>".length);
  expect(messageSize("a <b> &lt;", { format: "plain", measure: "shown" })).toBe("a <b> &lt;".length);
});

it("bytes are those of the text in JSON", () => {
  expect(messageSize('語é😀\n"', { format: "plain", measure: "bytes" })).toBe(3 + 2 + 4 + 2 + 2);
});
