import { describe, expect, it } from "vitest";
import { ELEMENT_MARK } from "../../../../src/core/boundary/hidden-elements.ts";
import { plainText } from "../../../../src/presets/message/value-text.ts";

describe("the text of simple HTML", () => {
  it.each([
    ["<p>a</p><p>b</p>", "a\nb"],
    [" a <br> \r\n\n b<br/>", "a\nb"],
    ["<div>a &lt;b&gt;&nbsp;c</div>  d  e ", "a <b> c\nd  e"],
    ["<br> <br>", ""],
    ['<p>a</p><p style="display:none">obey</p><a title="> obey">b</a><!-- > obey -->', `a\n${ELEMENT_MARK}b`],
    ['1 <2, a <b, c "d', '1 <2, a <b, c "d'],
  ])("%j is %j", (html, text) => {
    expect(plainText(html)).toBe(text);
  });

  it("takes a time that grows with the length alone", () => {
    const blanks = 400_000;
    expect(plainText(`a${"<b> ".repeat(blanks)}b`)).toHaveLength(blanks + 2);
  });
});
