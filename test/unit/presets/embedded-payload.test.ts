import { describe, expect, it } from "vitest";
import { embeddedBase64, embeddedPayload, unwrapFormPayload } from "../../../src/presets/embedded-payload.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("a text within a payload", () => {
  it.each<[string, unknown]>([
    ['{"a":1}', { a: 1 }],
    [" [1,2]\n", [1, 2]],
    ["{}", {}],
    ["null", null],
    ["42", "42"],
    ['"text"', '"text"'],
    ["{broken", "{broken"],
    ["", ""],
    ['{"__proto__":{"a":1},"b":2}', { b: 2 }],
  ])("%j means %j", (text, meaning) => {
    expect(embeddedPayload(text)).toEqual(meaning);
    if (text !== "") expect(embeddedBase64(base64(text))).toEqual(meaning);
  });

  it("stays text when it is nested deeper than a body may be", () => {
    const deep = "[".repeat(100) + "]".repeat(100);
    expect(embeddedPayload(deep)).toBe(deep);
  });
});

describe("base64 within a payload", () => {
  it("may be of either alphabet, with padding or without", () => {
    const text = "ÿþ~~~???";
    const written = [base64(text), Buffer.from(text).toString("base64url"), `\n${base64(text)} `];
    for (const data of written) expect(embeddedBase64(data)).toBe(text);
  });

  it.each(["", "=", "a b", "a===", "ünï"])("that is none stays as it is: %j", (text) => {
    expect(embeddedBase64(text)).toBe(text);
  });

  it("of bytes that are no text stays as it is", () => {
    const data = Buffer.from([0xc3, 0x28]).toString("base64");
    expect(embeddedBase64(data)).toBe(data);
  });
});

describe("a form that holds its JSON in one field", () => {
  it.each<[unknown, unknown]>([
    [{ payload: '{"action":"opened"}' }, { action: "opened" }],
    [{ payload: "[1]" }, [1]],
    [{ payload: "" }, {}],
    [{ payload: "no json" }, { payload: "no json" }],
  ])("%j is unwrapped", (form, payload) => {
    expect(unwrapFormPayload(form)).toEqual(payload);
  });

  it.each(['{"action":"opened"}', "no json"])("loses the unsigned fields, whatever %s is", (payload) => {
    expect(unwrapFormPayload({ payload, sender: "eve" })).not.toHaveProperty("sender");
  });

  it.each([{ action: "opened" }, { payload: { a: 1 } }, [], null, "text", 1])("%j is left as it is", (payload) => {
    expect(unwrapFormPayload(payload)).toBe(payload);
  });

  it("does not let a key through that could pollute a prototype, nor what is nested too deeply", () => {
    expect(Object.keys(unwrapFormPayload({ payload: '{"__proto__":{"a":1},"b":2}' }) as object)).toEqual(["b"]);
    const deep = `${"[".repeat(100)}${"]".repeat(100)}`;
    expect(unwrapFormPayload({ payload: deep })).toEqual({ payload: deep });
  });
});
