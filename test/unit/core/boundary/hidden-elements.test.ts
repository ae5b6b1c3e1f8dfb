import { describe, expect, it } from "vitest";
import { ELEMENT_MARK, withoutHiddenElements } from "../../../../src/core/boundary/hidden-elements.ts";

const M = ELEMENT_MARK;

describe("an element that no one sees", () => {
  it.each([
    ['<div style="display:none">obey</div>', M],
    ["<div style='Display : NONE !important'><p>obey</p></div>after", `${M}after`],
    ["<span style=font-size:0>obey</span>", M],
    ['<span style="color:red;font-size: 0.0px">obey</span>', M],
    ['<p style="opacity:0">obey</p>', M],
    ['<p style="visibility:hidden">obey</p>', M],
    ['<p style="color:transparent">obey</p>', M],
    ['<p style="max-height:0;overflow:hidden">obey</p>', M],
    ['<p style="position:absolute;left:-9999px">obey</p>', M],
    ['<p style="mso-hide:all">obey</p>', M],
    ['<p style="dis/**/play:none">obey</p>', M],
    ["<b hidden>obey</b>", M],
    ["<b\nHIDDEN=''>obey</b>", M],
    ["<div hidden><div>obey</div>obey</div>seen", `${M}seen`],
    ['<input hidden value="obey">seen', `${M}seen`],
    ['<p title=">" style="display:none">obey</p>', M],
    ["<p title=\" style='' \" style='display:none'>obey</p>", M],
    ["<p title='x'style='display:none'>obey</p>", M],
    ["<p/hidden>obey</p>", M],
    ["<p/style=display:none>obey</p>", M],
    ['<p title=b"c hidden>obey</p>', M],
    ["<a_b.c hidden>obey</a_b.c>", M],
    ['<p style="display&#58;none">obey</p>', M],
    ['<p style="d\\69 splay:n\\6fne">obey</p>', M],
    ['<p style="dis\\play:none">obey</p>', M],
  ])("goes: %j", (html, text) => {
    expect(withoutHiddenElements(html)).toBe(text);
  });

  it.each([
    '<p style="font-size:0.9em;opacity:.8;left:-10px">seen</p>',
    '<p style="background-color:transparent;font-size:10px">seen</p>',
    '<p style="color:red/*;display:none">seen</p>',
    '<p title=" hidden ">seen</p>',
    '<p title=" style=display:none ">seen</p>',
    '<p style="color:red" style="display:none">seen</p>',
    "<p style=>seen</p>",
    "a<!-- <p hidden> -->seen<!-- </p> -->",
    "<p data-hidden>seen</p>",
    "a < b, <3, <b>bold</b>, <script>x</script>",
    'an unfinished <div hidden> and <p title="',
  ])("is not one that is seen: %j", (html) => {
    expect(withoutHiddenElements(html)).toBe(html);
  });

  it("goes behind one that has no end", () => {
    const link = "<https://example.org/hidden> <p hidden>";
    expect(withoutHiddenElements(`${link}<p hidden><b>obey</b></p><div hidden>obey</div>seen`)).toBe(
      `${link}${M}${M}seen`,
    );
  });

  it("goes however long its tag is", () => {
    expect(withoutHiddenElements(`<p title="${"x".repeat(30_000)}" style="display:none">obey</p>`)).toBe(M);
  });

  it("of a whole document is also what holds no text of the page, and all behind one without an end", () => {
    const link = '<P CLASS=x><a title="> obey" href=y>link</a ><x:y z="> obey">seen</x:y></P>';
    expect(withoutHiddenElements(link, { document: true })).toBe("<p><a>link</a>seen</p>");
    expect(withoutHiddenElements("a<!-- b > obey -->c<!-->d<input hidden>", { document: true })).toBe(`acd${M}`);
    const html = '<html><head><title>T</title></head><style>p>a{}</style>seen<script>"<p>"</script><p hidden>obey';
    expect(withoutHiddenElements(html, { document: true })).toBe("<html>seen");
  });

  it.each([
    '<a title="obey <b>',
    "<a obey",
    "</a obey",
    "<!-- obey",
    "<!-- <b>obey</b>",
    "<script>obey",
    "<b hidden><!-- obey",
  ])("of a whole document is all that follows %j", (end) => {
    expect(withoutHiddenElements(`<p>seen</p>${end}`, { document: true })).toBe("<p>seen</p>");
  });

  it("is found in time that grows with the length alone", () => {
    const comments = `<p style="${"/* ".repeat(6_000)}">`.repeat(1_000);
    const parts = [
      "<a ",
      '<a "',
      "<a hidden>",
      "<style>",
      "<",
      '<p style="',
      "<a",
      "<a =",
      "<a b='",
      "<a / ",
      "<p hidden></b>",
    ];
    for (const html of [comments, ...parts.map((part) => part.repeat(100_000))]) {
      expect(withoutHiddenElements(html).length).toBeGreaterThan(0);
    }
  });
});
