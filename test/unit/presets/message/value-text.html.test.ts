import { describe, expect, it } from "vitest";
import { plainText } from "../../../../src/presets/message/value-text.ts";

describe("the text of simple HTML", () => {
  it.each([
    ["<p>a</p><p>b</p>", "a\nb"],
    [" a <br> \r\n\n b<br/>", "a\nb"],
    ["<div>a &lt;b&gt;&nbsp;c</div>  d  e ", "a <b> c\nd  e"],
    ["<br> <br>", ""],
  ])("%j is %j", (html, text) => {
    expect(plainText(html)).toBe(text);
  });

  it("takes a time that grows with the length alone", () => {
    const blanks = 400_000;
    expect(plainText(`a${"<b> ".repeat(blanks)}b`)).toHaveLength(blanks + 2);
  });
});
