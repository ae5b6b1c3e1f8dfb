import { describe, expect, it } from "vitest";

import { dropPollutingKeys } from "../../../src/http/parse-payload.ts";

function dropped(text: string): unknown {
  const value = JSON.parse(text) as object;
  dropPollutingKeys(value, text);
  return value;
}

describe("dropPollutingKeys", () => {
  it.each<[string, string]>([
    ['{"__proto__":{"x":1},"a":1}', '{"a":1}'],
    ['{"a":[{"b":{"__proto__":1,"c":2}}]}', '{"a":[{"b":{"c":2}}]}'],
    ['[[{"__proto__":null}]]', "[[{}]]"],
    ['{"\\u005f_proto__":1}', "{}"],
    ['{"__pr\\u006Fto__":1}', "{}"],
    ['{"constructor":{"prototype":{"x":1}},"a":1}', '{"a":1}'],
    ['{"\\u0063onstructor":{"prototype":1}}', "{}"],
    ['{"constructor":{"name":"Ferrari"}}', '{"constructor":{"name":"Ferrari"}}'],
    ['{"constructor":"Ferrari","prototype":{"a":1}}', '{"constructor":"Ferrari","prototype":{"a":1}}'],
    ['{"constructor":null,"a":["constructor","__proto__"]}', '{"constructor":null,"a":["constructor","__proto__"]}'],
    ['{"constructor":{"a":{"__proto__":1}}}', '{"constructor":{"a":{}}}'],
    ['{"n":"caf\\u00e9"}', '{"n":"café"}'],
  ])("makes %s into %s", (text, expected) => {
    expect(JSON.stringify(dropped(text))).toBe(expected);
  });

  it("makes a copy by assignment and a careless merge harmless", () => {
    const value = dropped('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    const merge = (into: Record<string, unknown>, from: object) => {
      for (const [key, part] of Object.entries(from)) {
        if (typeof part === "object" && part !== null && into[key] instanceof Object)
          merge(into[key] as typeof into, part);
        else into[key] = part;
      }
      return into;
    };
    expect(merge({}, value as object)).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("polluted");
  });

  it("needs no stack for nesting", () => {
    const text = `${'{"a":'.repeat(50_000)}{"__proto__":1}${"}".repeat(50_000)}`;
    let value = dropped(text) as { a?: object };
    while (value.a !== undefined) value = value.a;
    expect(Object.keys(value)).toEqual([]);
  });
});
