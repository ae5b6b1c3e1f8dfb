import { describe, expect, it } from "vitest";
import { formatMarkdown } from "../../../../../src/hosts/embedded/channels/markdown.ts";

const SOURCE = `# Build *7*

It **failed** at ~~noon~~ _midnight_: see [the log](https://ci.example/7?a=1&b=2).

- first
- second
  1. inner
- [x] done

> quoted & <b>

\`\`\`ts
if (a < b) {}
\`\`\`

![chart](https://ci.example/chart.png) <script>alert(1)</script>`;

describe("markdown", () => {
  it("stays as it is where the platform takes it", () => {
    expect(formatMarkdown(SOURCE, "markdown")).toBe(SOURCE);
  });

  it("becomes the HTML of Telegram and Pushover", () => {
    expect(formatMarkdown(SOURCE, "html")).toBe(`<b>Build <i>7</i></b>

It <b>failed</b> at <s>noon</s> <i>midnight</i>: see <a href="https://ci.example/7?a=1&amp;b=2">the log</a>.

• first
• second
  1. inner
• ☑ done

&gt; quoted &amp; &lt;b&gt;

<pre>if (a &lt; b) {}</pre>

<a href="https://ci.example/chart.png">chart</a> &lt;script&gt;alert(1)&lt;/script&gt;`);
  });

  it("becomes the mrkdwn of Slack and Google Chat", () => {
    const text = formatMarkdown(SOURCE, "mrkdwn");
    expect(text).toContain("*Build _7_*");
    expect(text).toContain("<https://ci.example/7?a=1&amp;b=2|the log>");
    expect(text).toContain("&lt;script&gt;");
  });

  it("has no link in a link, and none without a text", () => {
    const badge = "[![build](https://ci.example/b.svg)](https://ci.example)";
    expect(formatMarkdown(badge, "mrkdwn")).toBe("<https://ci.example|build>");
    expect(formatMarkdown(badge, "html")).toBe('<a href="https://ci.example">build</a>');
    const image = "![](https://ci.example/a.png)";
    expect(formatMarkdown(image, "html")).toBe('<a href="https://ci.example/a.png">https://ci.example/a.png</a>');
    expect(formatMarkdown(image, "plain")).toBe("https://ci.example/a.png");
  });

  it("loses its markup as plain text", () => {
    const text = formatMarkdown(SOURCE, "plain");
    expect(text).toContain("It failed at noon midnight: see the log (https://ci.example/7?a=1&b=2).");
  });

  it("is sent as it was written where it is nested too deeply to be read, and is no markup then either", () => {
    const text = `${"> - ".repeat(20_000)}<b>deep</b>`;
    expect(formatMarkdown(text, "html")).toMatch(/^(?:&gt; - )+&lt;b&gt;deep&lt;\/b&gt;$/u);
  });

  it.each(["html", "mrkdwn"] as const)("can neither be markup of its own nor name anyone, as %s", (format) => {
    for (const hostile of [
      "<!channel> <@U1> <!here|x>",
      '<a href="javascript:alert(1)">x</a>',
      "[x](javascript:alert(1)) [y](data:text/html,z)",
      '[x](https://a.example/"onclick=1)',
      "&lt;b&gt;",
      "`<!channel>`\n\n    <!channel>\n",
    ]) {
      const text = formatMarkdown(hostile, format);
      const shown = text.replaceAll(/<\/?(?:b|i|s|code|pre|a(?: href="[^"<>]*")?)>/gu, "");
      expect(shown.replaceAll(/<https:[^<>|]*\|[^<>|]*>/gu, "")).not.toMatch(/[<>]/u);
      expect(text).not.toMatch(/<a href="(?:javascript|data):/u);
    }
  });
});
