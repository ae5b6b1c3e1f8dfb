import { describe, expect, it } from "vitest";
import { compileSecretIndex } from "../../../../src/core/outgoing/secret-index.ts";

const SECRET = "tok_9f-Kq27/hzPw41xLm";
const has = compileSecretIndex([SECRET, "another-secret-of-it", "!@#$%^&*()_+!@#$", "short"]);
const between = (text: string, separator: string): string => Array.from(text).join(separator);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** One alone is looked for in another way than many. */
const hasOnly = compileSecretIndex([SECRET]);

describe("the secrets of a gateway", () => {
  it.each([
    ["as it is", SECRET],
    ["inside of words", `x${SECRET}y`],
    ["in capitals", SECRET.toUpperCase()],
    ["backwards", Array.from(SECRET).toReversed().join("")],
    ["over lines", between(SECRET, "\n")],
    ["with spaces", between(SECRET, " ")],
    ["with zero-width spaces", between(SECRET, "\u200B")],
    ["with tags of a list", between(SECRET, "**, ")],
    ["in full-width letters", SECRET.replaceAll(/[!-~]/gu, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0))],
    ["in hexadecimal", Buffer.from(SECRET).toString("hex")],
    ["in hexadecimal with colons", between(Buffer.from(SECRET).toString("hex"), ":")],
    ["in escapes of JavaScript", Array.from(SECRET, (char) => `\\x${char.charCodeAt(0).toString(16)}`).join("")],
    ["in escapes of JSON", Array.from(SECRET, (char) => `\\u00${char.charCodeAt(0).toString(16)}`).join("")],
    ["in bytes of source code", Array.from(SECRET, (char) => `0x${char.charCodeAt(0).toString(16)}`).join(", ")],
    ["in escapes of code points", Array.from(SECRET, (char) => `\\u{${char.charCodeAt(0).toString(16)}}`).join("")],
    ["in octal escapes", Array.from(SECRET, (char) => `\\${char.charCodeAt(0).toString(8)}`).join("")],
    [
      "in octal escapes of three digits",
      Array.from(SECRET, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`).join(""),
    ],
    ["in decimal codes", Array.from(SECRET, (char) => char.charCodeAt(0)).join(", ")],
    ["in URL encoding", Array.from(SECRET, (char) => `%${char.charCodeAt(0).toString(16)}`).join("")],
    ["partly in URL encoding", encodeURIComponent(SECRET)],
    ["in HTML references", Array.from(SECRET, (char) => `&#${char.charCodeAt(0)};`).join("")],
    [
      "in HTML references with zeros",
      Array.from(SECRET, (char) => `&#${String(char.charCodeAt(0)).padStart(12, "0")};`).join(""),
    ],
    ["in base64url", Buffer.from(SECRET).toString("base64url")],
    ...["", "a", "ab", "abc"].map((before) => [`in base64 behind ${before.length}`, base64(`${before}${SECRET}zz`)]),
    ["in base64 over lines", base64(`the token is ${SECRET}.`).replaceAll(/.{7}/gu, "$&\r\n")],
    ["of punctuation", "! @ # $ % ^ & * ( ) _ + ! @ # $"],
  ])("are found %s", (_, written) => {
    expect(has(`Here you are: ${written} Bye.`)).toBe(true);
  });

  it.each([
    ["as it is", SECRET],
    ["over lines, in capitals", between(SECRET.toUpperCase(), "\n")],
    ["in hexadecimal", Buffer.from(SECRET).toString("hex")],
    ["in HTML references", Array.from(SECRET, (char) => `&#${char.charCodeAt(0)};`).join("")],
    ["in base64", base64(`ab${SECRET}zz`)],
  ])("are found %s where there is one alone", (_, written) => {
    expect(hasOnly(`Here you are: ${written} Bye.`)).toBe(true);
    expect(hasOnly(`Here you are: ${written.slice(0, 6)} Bye.`)).toBe(false);
  });

  it("are not found in anything else", () => {
    for (const text of ["", "short", "tok_9f-Kq27", "another secret", base64("no token at all"), "a".repeat(100_000)]) {
      expect(has(text)).toBe(false);
    }
    expect(compileSecretIndex([])(SECRET)).toBe(false);
  });

  it("are all found, wherever they stand", () => {
    const secrets = Array.from({ length: 300 }, (_, at) => `secret-${at * 7_919}-${"x".repeat(at % 20)}`);
    const hasOne = compileSecretIndex(secrets);
    const missed = secrets.filter((secret, at) => !hasOne(`${"lorem ".repeat(at)}${secret}`));
    expect(missed).toEqual([]);
    expect(hasOne("secret-".repeat(1_000))).toBe(false);
  });
});
