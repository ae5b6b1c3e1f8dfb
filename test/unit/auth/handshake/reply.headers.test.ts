import { describe, expect, test } from "vitest";
import { compile, content, empty } from "./handshake-bench.ts";
import { answerOf, handshakeOf, refusal } from "./reply-bench.ts";

describe("headers of an answer", () => {
  test("are written in lower case, with literals and settings", async () => {
    const headers = { "X-Name": "a b {setting:s}", Allow: "POST" };
    expect(await answerOf({ headers }, { s: "c d" })).toEqual(empty(200, { "x-name": "a b c d", allow: "POST" }));
  });

  test("hold no setting that no header may hold", async () => {
    for (const s of ["a\r\nb", "ä", "\t", "\u007f"]) {
      expect(await answerOf({ headers: { "x-name": "{setting:s}" } }, { s })).toBeUndefined();
    }
    expect(await answerOf({ headers: { "x-name": "{setting:s}" } }, { s: " ~" })).toBeDefined();
  });

  test.each([
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Keep-Alive",
    "Set-Cookie",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "x name",
    "x:name",
    "x\r\nname",
    "",
    "ä",
    "x ",
    " x",
    "__proto__",
  ])("that must not be set are refused at load: %j", (name) => {
    const headers = Object.fromEntries([[name, "x"]]);
    expect(() => compile([handshakeOf({ headers })])).toThrow(
      refusal(`its reply cannot set the header "${name.toLowerCase()}"`),
    );
  });

  test.each(["a\nb", "a\rb", "ä", "\u007f", "a{header:x-name}\t"])(
    "with a value that none may hold are: %j",
    (value) => {
      expect(() => compile([handshakeOf({ headers: { "X-Name": value } })])).toThrow(
        refusal('the header "x-name" of its reply holds characters that no header may hold'),
      );
    },
  );

  test.each([
    "text/html",
    "image/svg+xml",
    "application/xml",
    "{header:x-name}",
    "text/plain;{header:x-name}",
    "xtext/plain",
    "text/plainx",
    "application/jsonx",
    "",
    "application/x json",
    "text/plain, text/html",
    "application/+json",
  ])("with a type that a browser could run are: %j", (type) => {
    expect(() => compile([handshakeOf({ headers: { "Content-Type": type } })])).toThrow(
      refusal("its reply can be plain text or JSON only"),
    );
  });

  test.each([
    "text/plain",
    "Text/Plain; charset=utf-8",
    "application/json",
    "application/vnd.api+json",
    "application/json;a=b",
  ])("with a harmless type are set: %s", async (type) => {
    const answer = await answerOf({ text: "{}", headers: { "Content-Type": type } });
    expect(answer).toEqual(content(200, type, "{}"));
  });
});
