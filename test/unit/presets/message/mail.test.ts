import { describe, expect, it } from "vitest";
import { mailActor, mailHeaders, mailLines, mailTextAt, sizeAt } from "../../../../src/presets/message/mail.ts";

const bodyOf = (mail: { text?: string; html?: string }) => mailLines({ from: "a", subject: "", ...mail }).slice(1);

describe("the lines of a mail", () => {
  it("say nothing of absent values", () => {
    expect(mailLines({ from: "", subject: "" })).toEqual(["New mail"]);
    expect(mailLines({ from: "", subject: "Hello" })).toEqual(["New mail: Hello"]);
  });

  it("keep a header on its line, whatever it holds", () => {
    expect(mailLines({ from: "a\r\nTo: b", subject: "x\ny", to: "c\r\nDate: d" })).toEqual([
      "New mail from a To: b: x y",
      "To: c Date: d",
    ]);
  });

  it("name attachments by name, type and size, and count those after the twentieth", () => {
    const file = { name: "a\nb.pdf", type: "application/pdf", size: 3 };
    expect(
      mailLines({ from: "a", subject: "", files: [file, { name: "", type: "", size: undefined }] }).slice(1),
    ).toEqual(["Attachment: a b.pdf (application/pdf, 3 bytes)", "Attachment: without a name"]);
    const many = mailLines({ from: "a", subject: "", files: Array.from({ length: 30 }, () => file) });
    expect(many.at(-1)).toBe("... and 10 more");
  });

  it("show the text, and the HTML only when there is none", () => {
    expect(bodyOf({ text: "Hi  \r\n\r\nthere", html: "<p>HTML</p>" })).toEqual(["Hi\n\nthere"]);
    expect(bodyOf({ text: " \n", html: "<p>HTML</p>" })).toEqual(["HTML"]);
  });

  it("cut a long text", () => {
    expect(bodyOf({ text: "x".repeat(20_000) })[0]).toHaveLength(12_000);
  });

  it.each([
    ["<head><title>T</title></head><body>a\n b<br>c</body>", "a b\nc"],
    ["a<STYLE>p{}</STYLE >b<script>x</script>c", "abc"],
    ["a<script>alert(1)", "a"],
    ["<style>".repeat(7_000), ""],
    [" ".repeat(49_000) + "<p>end", "end"],
  ])("show of HTML what a person would see (%#)", (html, text) => {
    expect(bodyOf({ html })).toEqual(text === "" ? [] : [text]);
  });
});

describe("the headers of a mail", () => {
  it("are found by any case, and the first of a name wins", () => {
    const headers = mailHeaders([
      [" Received-SPF", "Fail "],
      ["received-spf", "Pass"],
    ]);
    expect(headers.get("received-spf")).toBe("Fail");
  });

  it("are at most 500", () => {
    expect(mailHeaders(Array.from({ length: 600 }, (_, at) => [`x-${at}`, "y"])).size).toBe(500);
  });
});

describe("the author of a mail", () => {
  it.each([
    ["Ada <ada@example.com>", { name: "Ada", id: "ada@example.com", bot: false }],
    ['"Byron, Ada" <ada@example.com>', { name: "Byron, Ada", id: "ada@example.com", bot: false }],
    ["<ada@example.com>", { name: "ada@example.com", bot: false }],
    ["ada@example.com", { name: "ada@example.com", bot: false }],
    ["", undefined],
  ])("of %j", (from, actor) => {
    expect(mailActor(from)).toEqual(actor);
  });

  it("is a bot when the mail says that it is an automatic reply, and not for other mails of programs", () => {
    expect(mailActor("a@example.com", "auto-replied (vacation)")?.bot).toBe(true);
    expect(mailActor("a@example.com", "auto-generated")?.bot).toBe(false);
    expect(mailActor("a@example.com", "no")?.bot).toBe(false);
  });
});

describe("parts of a payload", () => {
  it("are read whole", () => {
    expect(mailTextAt({ a: " ", b: "x".repeat(5_000) }, "a", "b")).toHaveLength(5_000);
    expect(mailTextAt({ a: 1 }, "a", "b")).toBe("");
  });

  it("are sizes only when they can be", () => {
    expect([1, -1, 1.5, "1"].map((size) => sizeAt({ size }, "size"))).toEqual([1, undefined, undefined, undefined]);
  });
});
