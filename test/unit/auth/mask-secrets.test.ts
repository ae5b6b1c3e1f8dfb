import { describe, expect, it } from "vitest";
import { compileMaskSecrets } from "../../../src/auth/mask-secrets.ts";
import type { AuthConfig, SecretAuth } from "../../../src/config/auth/schema.ts";

const auth = (secrets: readonly string[], from = ["body:clientState"]): SecretAuth => ({
  scheme: "secret",
  secrets,
  from,
  prefix: "",
});
const masked = (scheme: AuthConfig, body: string): string =>
  Buffer.from(compileMaskSecrets(scheme)(Buffer.from(body))).toString();

describe("secrets that a sender writes into the body", () => {
  it("are overwritten wherever they stand, and the body keeps its length", () => {
    const body = '{"value":[{"clientState":"s3cret-s3cret"},{"clientState":"s3cret-s3cret"}],"n":1}';
    expect(masked(auth(["s3cret-s3cret"]), body)).toBe(
      '{"value":[{"clientState":"*************"},{"clientState":"*************"}],"n":1}',
    );
  });

  it("are found as JSON and forms write them", () => {
    expect(masked(auth(['a"b\\c']), String.raw`{"clientState":"a\"b\\c"}`)).toBe('{"clientState":"*******"}');
    expect(masked(auth(["a b/c"]), "apikey=a%20b%2Fc&x=1")).toBe("apikey=*********&x=1");
  });

  it.each([
    [String.raw`{"k":"a\/b\u00e9"}`, "a/bé"],
    [String.raw`{"k":"\u0061\/b\u00E9"}`, "a/bé"],
    ["k=a%2fb%c3%A9", "a/bé"],
    ["k=x+y%20z", "x y z"],
    [String.raw`{"k":"\ud83d\ude00 key"}`, "😀 key"],
    [`{"k":"😀 key"}`, "😀 key"],
  ])("are found however characters are written: %s", (body, secret) => {
    const result = masked(auth([secret]), body);
    expect(result).toMatch(/^(?:k=|\{"k":")\*+(?:"\})?$/u);
    expect(Buffer.byteLength(result)).toBe(Buffer.byteLength(body));
  });

  it("may hold any characters, none of which means more than itself", () => {
    expect(masked(auth(["a.*b"]), '["a.*b","axxb"]')).toBe('["****","axxb"]');
    expect(masked(auth(["^$()[]{}|?+"]), '["^$()[]{}|?+"]')).toBe(`["${"*".repeat(11)}"]`);
  });

  it("differ from lookalikes: one character more or less is no match", () => {
    expect(masked(auth(["a/b"]), '["a+b","a\\\\/b","ab"]')).toBe('["a+b","a\\\\/b","ab"]');
    expect(masked(auth(["axb"]), '["a+b","a\\\\xb"]')).toBe('["a+b","a\\\\xb"]');
  });

  it("are looked for when one of several places is in the body", () => {
    expect(masked(auth(["abc"], ["header:x-key", "body:key"]), '{"key":"abc"}')).toBe('{"key":"***"}');
  });

  it("leave bytes that are no text as they are", () => {
    const body = Buffer.concat([Buffer.from([0xff, 0x80, 0xc3]), Buffer.from("abc"), Buffer.from([0xe9, 0x00])]);
    const expected = Buffer.concat([Buffer.from([0xff, 0x80, 0xc3]), Buffer.from("***"), Buffer.from([0xe9, 0x00])]);
    expect(Buffer.from(compileMaskSecrets(auth(["abc"]))(body))).toEqual(expected);
  });

  it("are all of a rotation", () => {
    expect(masked(auth(["old-one", "new-one"]), '["old-one","new-one"]')).toBe('["*******","*******"]');
  });

  it("leave the bytes that were received as they are: the caller's copy is not touched", () => {
    const body = Buffer.from('{"clientState":"abc"}');
    const result = compileMaskSecrets(auth(["abc"]))(body);
    expect(body.toString()).toBe('{"clientState":"abc"}');
    expect(result).not.toBe(body);
  });

  it("are looked for only where a body carries them: any other body is passed on as it is", () => {
    const body = Buffer.from("abc");
    expect(compileMaskSecrets(auth(["abc"], ["header:x-token"]))(body)).toBe(body);
    expect(compileMaskSecrets({ scheme: "basic", secrets: ["abc"] })(body)).toBe(body);
    expect(masked(auth([""]), "abc")).toBe("abc");
  });
});
