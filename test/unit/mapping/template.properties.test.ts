import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { compileTemplate } from "../../../src/mapping/template.ts";
import type { TemplateContext } from "../../../src/mapping/template.ts";

const now = new Date("2026-02-03T04:05:06.007Z");
const KEYS = ["a", "b", "length", "0", "x-event", "payload", "headers", "path", "now", "toString", "{s", "a b"];
const FORBIDDEN = ["__proto__", "prototype", "constructor"];

const key = fc.oneof(
  fc.constantFrom(...KEYS, ...FORBIDDEN),
  fc.string({ maxLength: 6 }).filter((text) => text !== "__proto__"),
);
const { tree: payload } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("text", "{{a}}", "$& $1", "", 0, -1.5, true, false, null),
    fc.string({ maxLength: 10 }),
    fc.array(tie("tree"), { maxLength: 4 }),
    // Through text, so that `__proto__` becomes an own key as it does in a request.
    fc.array(fc.tuple(key, tie("tree")), { maxLength: 5 }).map(fromPairs),
  ),
}));
const named = fc.dictionary(fc.constantFrom("x-event", "a", "b", "toString"), fc.string({ maxLength: 8 }));
const context: fc.Arbitrary<TemplateContext> = fc.record({
  payload,
  headers: named,
  query: named,
  path: fc.string({ maxLength: 8 }),
  now: fc.constant(now),
});

const fragment = fc.oneof(
  fc.constantFrom("{{", "}}", "{", "}", ".", "[", "]", "[0]", "[1]", " ", "\n", "$&"),
  fc.constantFrom("payload.", "headers.", "query.", "path", "now", ...KEYS, ...FORBIDDEN),
  fc.string({ maxLength: 4 }),
);
const soup = fc.array(fragment, { maxLength: 14 }).map((parts) => parts.join(""));
const expressions = fc
  .array(fc.tuple(fc.constantFrom("", "payload.", "headers.", "query."), fc.array(key, { maxLength: 4 })), {
    maxLength: 4,
  })
  .map((list) => list.map(([root, keys]) => `<{{${root}${keys.join(".")}}}>`).join(""));
const source = fc.oneof(soup, expressions, fc.string());

describe("templates, for any source and payload", () => {
  it("render what the table of expressions says", () => {
    fc.assert(
      fc.property(source, context, (source, context) => {
        expect(compileTemplate(source).render(context)).toBe(renderNaively(source, context));
      }),
      { numRuns: 3000 },
    );
  });

  it("never throw, and are static exactly when a render cannot differ from the source", () => {
    fc.assert(
      fc.property(
        fc.oneof(soup, fc.string({ unit: "binary" })),
        fc.anything({ withBigInt: true }),
        (source, payload) => {
          const template = compileTemplate(source);
          const text = template.render({ payload, headers: {}, query: {}, path: "p", now });
          expect(typeof text).toBe("string");
          expect(template.isStatic).toBe(template.expressions.length === 0);
          expect(template.isStatic).toBe(!/\{\{[^}]+\}\}/.test(source));
          if (template.isStatic) expect(text).toBe(source);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("leave text without {{ unchanged", () => {
    const literal = fc.string().map((text) => text.replaceAll("{{", "{ "));
    fc.assert(
      fc.property(literal, context, (text, context) => {
        expect(compileTemplate(text).render(context)).toBe(text);
      }),
    );
  });

  it("never expand a {{...}} that a payload holds", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("secret", "payload.secret", "path", "now"), (text, inner) => {
        const value = `${text}{{${inner}}}${text}`;
        const context = { payload: { value, secret: "S" }, headers: {}, query: {}, path: "p", now };
        expect(compileTemplate("<{{value}}>").render(context)).toBe(`<${value}>`);
      }),
    );
  });

  it("never reach a prototype, a function or an inherited member", () => {
    const inherited = fc.constantFrom(
      ...Object.getOwnPropertyNames(Object.prototype),
      ...Object.getOwnPropertyNames(Array.prototype).filter((name) => name !== "length"),
      ...FORBIDDEN,
    );
    const root = fc.constantFrom("", "payload.", "headers.", "query.", "o.", "a.", "a[0].", "o[", "f.");
    const plain = { o: {}, a: [{}] };
    fc.assert(
      fc.property(root, fc.array(inherited, { minLength: 1, maxLength: 3 }), (root, keys) => {
        const context = { payload: plain, headers: {}, query: {}, path: "p", now };
        expect(compileTemplate(`[{{${root}${keys.join(".")}}}]`).render(context)).toBe("[]");
      }),
      { numRuns: 500 },
    );
  });
});

/** Written from the table of the reference alone, with a regular expression at render time. */
function renderNaively(source: string, context: TemplateContext): string {
  return source.replace(/\{\{([^}]+)\}\}/g, (_, inner: string) => {
    const expression = inner.trim();
    if (expression === "path") return context.path;
    if (expression === "now") return context.now.toISOString();
    for (const root of ["headers", "query", "payload"] as const) {
      if (expression.startsWith(`${root}.`)) return print(walk(context[root], expression.slice(root.length + 1)));
    }
    return print(walk(context.payload, expression));
  });
}

function walk(root: unknown, path: string): unknown {
  const steps = path
    .replace(/\[(\d+)\]/g, ".\u0000$1.")
    .split(/[.[\]]/)
    .filter((step) => step !== "");
  if (steps.length === 0) return undefined;
  let value = root;
  for (const step of steps) {
    const isIndex = step.startsWith("\u0000") && /^\d+$/.test(step.slice(1));
    const name = isIndex ? String(Number(step.slice(1))) : step;
    if (FORBIDDEN.includes(name)) return undefined;
    if (value === null || typeof value !== "object" || (isIndex && !Array.isArray(value))) return undefined;
    value = new Map<string, unknown>(
      Object.getOwnPropertyNames(value).map((own) => [own, Object.getOwnPropertyDescriptor(value, own)?.value]),
    ).get(name);
  }
  return value;
}

function print(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : `${value as string | number | boolean}`;
}

function fromPairs(pairs: [string, unknown][]): unknown {
  return JSON.parse(`{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`);
}
