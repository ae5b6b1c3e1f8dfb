import { expect, it } from "vitest";
import { personText } from "../../../../src/presets/message/value-text.ts";

it.each<[string, string, string]>([
  ["Ada", "ada@example.com", "Ada <ada@example.com>"],
  ["Ada", "", "Ada"],
  ["", "ada@example.com", "ada@example.com"],
  ["ada@example.com", "ada@example.com", "ada@example.com"],
  ["", "", ""],
])("a person called %j at %j is %j", (name, address, text) => {
  expect(personText(name, address)).toBe(text);
});
