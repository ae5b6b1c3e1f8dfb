import { expect, it } from "vitest";
import { formatJson } from "../../../src/console/app/pages/format-json.ts";

it("gives each member a line", () => {
  const text = '{"a":[1,2],"b":{},"c":[],"d":{"e":"x,{y}: \\"z\\""}, "f" : null }';
  expect(formatJson(text, 1_000)).toBe(JSON.stringify(JSON.parse(text), undefined, 2));
  expect(formatJson("[]", 1_000)).toBe("[]");
  expect(formatJson(' "text" ', 1_000)).toBe('"text"');
});

it("leaves every value as it is written: large numbers, repeated keys, their order, and escapes", () => {
  const text = String.raw`{"id":12345678901234567890,"amount":1.0,"id":2,"10":"\u202e\/"}`;
  expect(formatJson(text, 1_000)).toBe(
    String.raw`{
  "id": 12345678901234567890,
  "amount": 1.0,
  "id": 2,
  "10": "\u202e\/"
}`,
  );
});

it("leaves text that is no JSON as it is", () => {
  expect(formatJson("a=1&b={}", 1_000)).toBe("a=1&b={}");
  expect(formatJson('{"a":', 1_000)).toBe('{"a":');
});

it("ends soon after the bound, however deep a payload is nested", () => {
  const text = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
  expect(formatJson(text, 10_000).length).toBeLessThan(11_000);
});
