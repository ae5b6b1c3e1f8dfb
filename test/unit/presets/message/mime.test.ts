import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, decodeWords, headerLines, readMime } from "../../../../src/presets/message/mime.ts";

const read = (...lines: string[]) => readMime(Buffer.from(lines.join("\r\n")));

describe("the source of a mail", () => {
  it("is its headers and its text", () => {
    const mail = read("Subject: Hello", "X-Long: one", "\ttwo", "", "Hi", "", "there");
    expect(mail).toMatchObject({ text: "Hi\r\n\r\nthere", html: "", files: [] });
    expect(mail.headers.get("x-long")).toBe("one two");
    expect(read("Subject: only headers")).toMatchObject({ text: "", html: "", files: [] });
  });

  it("is read through its parts, to the first text and HTML, and the rest as files", () => {
    const mail = read(
      'Content-Type: multipart/mixed; boundary="b"',
      "",
      "preamble",
      "--b",
      "Content-Type: multipart/alternative; boundary=b1",
      "",
      "--b1",
      "Content-Type: text/plain; charset=iso-8859-1",
      "Content-Transfer-Encoding: quoted-printable",
      "",
      "caf=E9 =",
      "au lait",
      "--b1",
      "Content-Type: text/html",
      "",
      "<p>x</p>",
      "--b1--",
      "--b",
      "Content-Type: text/plain",
      "",
      "a footer",
      "--b",
      "Content-Type: text/plain",
      'Content-Disposition: attachment; filename="=?utf-8?Q?caf=C3=A9_.txt?="',
      "Content-Transfer-Encoding: base64",
      "",
      "aGVsbG8=",
      "--b--",
      "epilogue",
    );
    expect(mail.text.trim()).toBe("café au lait");
    expect(mail.html.trim()).toBe("<p>x</p>");
    expect(mail.files).toEqual([{ name: "café .txt", type: "text/plain", size: 5 }]);
  });

  it("is read to a depth and a number of parts", () => {
    const deep = Array.from({ length: 20 }, (_, at) => [
      `Content-Type: multipart/mixed; boundary=x${at}y`,
      "",
      `--x${at}y`,
    ]);
    expect(read(...deep.flat(), "", "too deep").text).toBe("");
    const parts = Array.from({ length: 150 }, () => ["--b", "Content-Type: a/b", "", "x"]);
    expect(read("Content-Type: multipart/mixed; boundary=b", "", ...parts.flat(), "--b--").files.length).toBeLessThan(
      101,
    );
  });

  it("is read whatever it is, without an error", () => {
    const pieces = fc.constantFrom(
      "\r\n",
      "\n",
      "--b",
      "--",
      "Content-Type: multipart/x; boundary=b",
      ":",
      "=",
      "=?utf-8?q?",
      "?=",
      "x",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (list) => {
        expect(readMime(Buffer.from(list.join("")))).toHaveProperty("text");
      }),
      { numRuns: 500 },
    );
  });
});

describe("encoded words", () => {
  it.each([
    ["=?UTF-8?B?w6k=?= x", "é x"],
    ["=?iso-8859-1?q?caf=E9_au?= =?utf-8?q?_lait?=", "café au lait"],
    ["=?x-none?q?=C3=A9?=", "é"],
    ["plain =?broken", "plain =?broken"],
  ])("%j", (text, decoded) => {
    expect(decodeWords(text)).toBe(decoded);
  });
});

it("reads bytes in a charset, and whatever they are", () => {
  expect(decodeText(Buffer.from([0xe9]), "windows-1252")).toBe("é");
  expect(decodeText(Buffer.from([0xe9]), "none")).toBe("é");
});

it("reads lines of headers, and leaves out what is none", () => {
  expect([...headerLines("A: 1\nno header\n: x\nB:2")]).toEqual([
    ["a", "1"],
    ["b", "2"],
  ]);
});
