/** Writes markdown as a platform takes it. */
import { lexer, type Token, type Tokens } from "marked";
import type { TextFormat } from "./http-presets.ts";

/** The marks of one format. `text` escapes what the platform would take for markup of its own. */
interface Marks {
  readonly text: (text: string) => string;
  readonly strong: (inner: string) => string;
  readonly emphasis: (inner: string) => string;
  readonly struck: (inner: string) => string;
  readonly code: (text: string) => string;
  readonly block: (text: string) => string;
  readonly link: (inner: string, href: string) => string;
}

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Schemes that a link may have; the text of any other stays without one. */
const LINKABLE = /^(?:https?|mailto|tel):/iu;

const HTML: Marks = {
  text: escapeHtml,
  strong: (inner) => `<b>${inner}</b>`,
  emphasis: (inner) => `<i>${inner}</i>`,
  struck: (inner) => `<s>${inner}</s>`,
  code: (text) => `<code>${escapeHtml(text)}</code>`,
  block: (text) => `<pre>${escapeHtml(text)}</pre>`,
  link: (inner, href) => `<a href="${escapeHtml(href).replaceAll('"', "&quot;")}">${inner}</a>`,
};

/** Of Slack and Google Chat, whose escapes keep a text from naming users and groups (`<!channel>`). */
const MRKDWN: Marks = {
  text: escapeHtml,
  strong: (inner) => `*${inner}*`,
  emphasis: (inner) => `_${inner}_`,
  struck: (inner) => `~${inner}~`,
  code: (text) => `\`${escapeHtml(text)}\``,
  block: (text) => `\`\`\`\n${escapeHtml(text)}\n\`\`\``,
  link: (inner, href) => `<${escapeHtml(href).replaceAll("|", "%7C")}|${inner.replaceAll("|", "/")}>`,
};

const bare = (text: string): string => text;
const PLAIN: Marks = {
  text: bare,
  strong: bare,
  emphasis: bare,
  struck: bare,
  code: bare,
  block: bare,
  link: (inner, href) => (inner === href ? inner : `${inner} (${href})`),
};

const MARKS = { html: HTML, mrkdwn: MRKDWN, plain: PLAIN } as const satisfies Record<
  Exclude<TextFormat, "markdown">,
  Marks
>;

/** More quotations and lists within one another than a person writes: such a text is sent as it is written. */
const NESTED = /^(?:[ \t]*>|[ \t]*(?:[*+-]|\d{1,9}[.)])[ \t]){32}/mu;

/** The text as the format has it; markdown stays as it is. */
export function formatMarkdown(markdown: string, format: TextFormat): string {
  if (format === "markdown") return markdown;
  const marks = MARKS[format];
  // To read it takes time that grows with the square of the depth.
  if (NESTED.test(markdown)) return marks.text(markdown).trimEnd();
  try {
    return blocks(lexer(markdown), marks).trimEnd();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // Nested by its indentation so deeply that it cannot be parsed.
    return marks.text(markdown).trimEnd();
  }
}

function blocks(tokens: readonly Token[], marks: Marks): string {
  let text = "";
  for (const token of tokens) {
    // A block in an item of a list may follow its text without a line end.
    if (text !== "" && !text.endsWith("\n") && token.type !== "space") text += "\n";
    text += block(token, marks);
  }
  return text;
}

/** Each block ends as it does in the source, with its line ends. */
function block(token: Token, marks: Marks): string {
  const end = /\n*$/u.exec(token.raw)?.[0] ?? "";
  switch (token.type) {
    case "space":
      return token.raw;
    case "heading":
      return `${marks.strong(inline(token, marks))}${end}`;
    case "code":
      return `${marks.block((token as Tokens.Code).text)}${end}`;
    case "blockquote":
      return `${blocks((token as Tokens.Blockquote).tokens, marks)
        .trimEnd()
        .replaceAll(/^/gmu, marks.text("> "))}${end}`;
    case "list":
      return `${list(token as Tokens.List, marks)}${end}`;
    case "hr":
      return `———${end}`;
    case "table":
      return `${marks.block(token.raw.trimEnd())}${end}`;
    case "html":
      return marks.text(token.raw);
    default:
      return "tokens" in token && token.tokens !== undefined ? `${inline(token, marks)}${end}` : marks.text(token.raw);
  }
}

function list({ items, ordered, start }: Tokens.List, marks: Marks): string {
  const first = typeof start === "number" ? start : 1;
  return items
    .map((item, at) => {
      const mark = ordered ? `${first + at}. ` : "• ";
      const task = item.task ? `${item.checked === true ? "☑" : "☐"} ` : "";
      const content = item.tokens.filter(({ type }) => type !== "checkbox");
      return `${mark}${task}${blocks(content, marks).trim().replaceAll("\n", "\n  ")}`;
    })
    .join("\n");
}

function inline({ tokens = [] }: { readonly tokens?: readonly Token[] | undefined }, marks: Marks): string {
  return tokens.map((token) => span(token, marks)).join("");
}

function span(token: Token, marks: Marks): string {
  switch (token.type) {
    case "strong":
      return marks.strong(inline(token, marks));
    case "em":
      return marks.emphasis(inline(token, marks));
    case "del":
      return marks.struck(inline(token, marks));
    case "codespan":
      return marks.code((token as Tokens.Codespan).text);
    case "br":
      return "\n";
    case "escape":
      return marks.text((token as Tokens.Escape).text);
    case "link":
    case "image": {
      const { href, text } = token as Tokens.Link;
      // An image in a link is its text alone: no platform has a link in a link.
      const inner: Marks = { ...marks, link: (label) => label };
      const label = "tokens" in token && token.tokens !== undefined ? inline(token, inner) : marks.text(text);
      const shown = label === "" ? marks.text(href) : label;
      return LINKABLE.test(href) ? marks.link(shown, href) : shown;
    }
    default:
      return "tokens" in token && token.tokens !== undefined ? inline(token, marks) : marks.text(token.raw);
  }
}
