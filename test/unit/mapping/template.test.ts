import { describe, expect, it } from "vitest";

import { compileTemplate } from "../../../src/mapping/template.ts";
import type { TemplateContext } from "../../../src/mapping/template.ts";

const now = new Date("2026-02-03T04:05:06.007Z");

function render(source: string, payload: unknown = {}, rest: Partial<TemplateContext> = {}): string {
  return compileTemplate(source).render({ payload, headers: {}, query: {}, path: "github/push", now, ...rest });
}

describe("the grammar of templates", () => {
  it.each<[string, boolean, string[]]>([
    ["plain text", true, []],
    ["", true, []],
    ["{{a}}", false, ["a"]],
    ["x {{ a.b }} y {{a.b}}{{ c }}", false, ["a.b", "a.b", "c"]],
    ["{{\n\ta\n}}", false, ["a"]],
    ["{{ }}", false, [""]],
    ["{{}}", true, []],
    ["{{a}b}}", true, []],
    ["{{a", true, []],
    ["a}}", true, []],
    ["{ {a}}", true, []],
    ["{{{s}}}", false, ["{s"]],
    ["{{}}{{a}}", false, ["a"]],
    ["{{a}b}} {{c}}", false, ["c"]],
    ["{{a} {{b}}", false, ["b"]],
    ["{{a}{{b}}", false, ["b"]],
    ["{{}{{b}}", false, ["b"]],
    ["{{a}}{{b}}", false, ["a", "b"]],
    ["{{a}}}{{b}}", false, ["a", "b"]],
    ["{{a {{b}}", false, ["a {{b"]],
  ])("%j is static: %j, with the expressions %j", (source, isStatic, expressions) => {
    const template = compileTemplate(source);
    expect(template.source).toBe(source);
    expect(template.isStatic).toBe(isStatic);
    expect(template.expressions).toEqual(expressions);
  });

  it.each(["{{}}", "{{a}b}}", "{{a", "a}}", "}}{{", "no braces", "{{}}}}", "a{{"])("leaves %j as it is", (source) => {
    expect(render(source, { a: "X", "a}b": "Y" })).toBe(source);
  });

  it("renders {{ }} as nothing, and {{{s}}} as nothing and a stray brace", () => {
    expect(render("[{{ }}]", { "": "X", " ": "Y" })).toBe("[]");
    expect(render("[{{{s}}}]", { s: "X" })).toBe("[}]");
  });

  it("takes an expression that names no segment as missing", () => {
    expect(render("[{{.}}{{payload.}}{{payload..}}{{headers.}}{{[]}}]", { a: 1 })).toBe("[]");
  });

  it("keeps every literal around and between expressions", () => {
    expect(render("{{a}}, {{b}}{{a}}.", { a: 1, b: "two" })).toBe("1, two1.");
  });

  it("compiles a long run of opening braces in linear time", () => {
    const source = "{{".repeat(200_000);
    expect(render(source)).toBe(source);
    expect(render(`${"{{a} ".repeat(100_000)}{{a}}`, { a: "X" })).toBe(`${"{{a} ".repeat(100_000)}X`);
  });

  it("renders the same template again and again, each time with the context given", () => {
    const template = compileTemplate("{{a}}-{{path}}");
    const base = { headers: {}, query: {}, path: "p", now };
    expect(template.render({ ...base, payload: { a: 1 } })).toBe("1-p");
    expect(template.render({ ...base, payload: { a: 2 }, path: "q" })).toBe("2-q");
  });
});

describe("what an expression reads", () => {
  it("path is the sub-path as received, and now the time in ISO 8601 UTC with milliseconds", () => {
    expect(render("{{path}} {{ now }}", { path: "no", now: "no" })).toBe("github/push 2026-02-03T04:05:06.007Z");
  });

  it("an invalid time prints nothing", () => {
    expect(render("[{{now}}]", {}, { now: new Date(Number.NaN) })).toBe("[]");
  });

  it("headers.<name> reads headers by their lower-case names only", () => {
    const headers = { "x-event": "push", "x-many": "a, b" };
    expect(render("{{headers.x-event}}|{{headers.X-Event}}|{{headers.x-many}}", {}, { headers })).toBe("push||a, b");
  });

  it("query.<name> reads query parameters, and names with a dot or bracket are out of reach", () => {
    const query = { a: "1", "b.c": "2", "d[0]": "3" };
    expect(render("{{query.a}}|{{query.b.c}}|{{query.d[0]}}", {}, { query })).toBe("1||");
  });

  it("payload.<path> and any other path read from the payload's root", () => {
    const payload = { a: { b: "deep" }, list: [{ x: 1 }] };
    expect(render("{{payload.a.b}} {{a.b}} {{payload.list[0].x}} {{list.0.x}}", payload)).toBe("deep deep 1 1");
  });

  it("payload, headers and query alone, and longer words, are keys of the payload", () => {
    const payload = { payload: "P", headers: "H", query: "Q", headersX: "HX", pathology: "PA", nowhere: "N" };
    const sources = "{{payload}} {{headers}} {{query}} {{headersX}} {{pathology}} {{nowhere}} {{payload.payload}}";
    expect(render(sources, payload, { headers: { x: "no" } })).toBe("P H Q HX PA N P");
    expect(render("{{path.x}} {{now.y}} {{headers[z]}}", { path: { x: 1 }, now: { y: 2 }, headers: { z: 3 } })).toBe(
      "1 2 3",
    );
  });

  it("an array as the root is read by index", () => {
    expect(render("{{[1].id}} {{length}} {{payload.[0].id}}", [{ id: "a" }, { id: "b" }])).toBe("b 2 a");
  });

  it("keys with spaces, hyphens and other characters work, quoted ones do not", () => {
    const payload = { "a b": 1, "x-y": 2, ключ: 3, o: { k: 4, '"k"': "with quotes" }, "{s": 5 };
    expect(render('{{a b}} {{x-y}} {{ключ}} {{o[k]}} {{o["k"]}} {{{s}}', payload)).toBe("1 2 3 4 with quotes 5");
    expect(render('[{{o["k"]}}]', { o: { k: 4 } })).toBe("[]");
  });

  it("doubled, leading and trailing dots count for nothing", () => {
    expect(render("{{..a..b.}} {{payload..a.b}}", { a: { b: "x" } })).toBe("x x");
  });

  it("a.length on an array prints the length, strings are not entered", () => {
    expect(render("[{{a.length}}] [{{s.length}}] [{{s[0]}}]", { a: [1, 2, 3], s: "text" })).toBe("[3] [] []");
  });

  it("negative indexes and wildcards find nothing", () => {
    expect(render("[{{a[-1]}}{{a[*]}}{{a.-1}}{{a[9]}}]", { a: [1, 2] })).toBe("[]");
  });
});

describe("what a value prints as", () => {
  it("a string as is, number and boolean by String(), object and array as compact JSON, the rest as nothing", () => {
    const payload = { s: " x ", n: 1.5, t: true, f: false, z: 0, nil: null, o: { a: [1, { b: "c" }] }, e: [] };
    expect(render("{{s}}|{{n}}|{{t}}|{{f}}|{{z}}|{{nil}}|{{gone}}|{{o}}|{{e}}", payload)).toBe(
      ' x |1.5|true|false|0|||{"a":[1,{"b":"c"}]}|[]',
    );
  });

  it("a value is never expanded again, and replacement patterns in it are inert", () => {
    const payload = { a: "{{b}}", b: "SECRET", c: "$& $1 $` $' $$", d: "{", e: "{b}}" };
    expect(render("{{a}}", payload)).toBe("{{b}}");
    expect(render("<{{c}}>", payload)).toBe("<$& $1 $` $' $$>");
    expect(render("{{d}}{{e}}", payload)).toBe("{{b}}");
  });
});

describe("what no expression reaches", () => {
  it("inherited members print nothing", () => {
    const sources = ["toString", "o.hasOwnProperty", "a.map", "valueOf", "headers.toString", "query.valueOf"];
    for (const source of sources) expect(render(`[{{${source}}}]`, { o: {}, a: [] })).toBe("[]");
  });

  it("__proto__, prototype and constructor print nothing anywhere, even as own keys", () => {
    for (const key of ["__proto__", "prototype", "constructor"]) {
      const own: unknown = JSON.parse(`{ "${key}": { "x": "S" }, "o": { "${key}": "S" } }`);
      const named = JSON.parse(`{ "${key}": "S" }`) as Record<string, string>;
      const source = [key, `${key}.x`, `o.${key}`, `o[${key}]`, `payload.${key}`, `headers.${key}`, `query.${key}`]
        .map((expression) => `{{${expression}}}`)
        .join("");
      expect(render(`[${source}]`, own, { headers: named, query: named })).toBe("[]");
    }
  });

  it("a payload that is no object has nothing to read", () => {
    for (const payload of [null, undefined, 5, "text", true]) {
      expect(render("[{{a}}{{length}}{{payload.x}}{{[0]}}]", payload)).toBe("[]");
    }
  });
});
