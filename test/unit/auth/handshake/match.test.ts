import { describe, expect, test } from "vitest";
import type { Handshake } from "../../../../src/config/handshake.ts";
import { answerTo, compile } from "./handshake-bench.ts";
import type { Sent } from "./handshake-bench.ts";

type When = NonNullable<Handshake["when"]>;

const handshakeOf = (when: When, changes: Partial<Handshake> = {}): Handshake => ({
  name: "check",
  verified: true,
  when,
  reply: { status: 200 },
  ...changes,
});

async function holds(when: When, sent: Sent): Promise<boolean> {
  const answer = await answerTo(handshakeOf({ "header:x-always": true, ...when }), {
    ...sent,
    headers: { "x-always": "1", ...sent.headers },
  });
  return answer !== undefined;
}

describe("a text", () => {
  test("is what a text in the body must be", async () => {
    expect(await holds({ "body:a.b": "x" }, { json: { a: { b: "x" } } })).toBe(true);
    expect(await holds({ "body:a.b": "x" }, { json: { a: { b: "X" } } })).toBe(false);
    expect(await holds({ "body:a.b": "x" }, { json: { a: "x" } })).toBe(false);
  });

  test.each([
    [1, "1"],
    [true, "true"],
    [-0.5, "-0.5"],
    ["a b", "a b"],
    ["ä", "ä"],
    ["", ""],
  ])("is what %j in the body must be, as JSON has it", async (value, text) => {
    expect(await holds({ "body:a": text }, { json: { a: value } })).toBe(true);
    expect(await holds({ "body:a": `${text}.` }, { json: { a: value } })).toBe(false);
  });

  test("never is what an object, a list or null is", async () => {
    for (const value of [{}, [], null, ["x"]]) {
      for (const text of ["", "x", "null", "[object Object]"]) {
        expect(await holds({ "body:a": text }, { json: { a: value } })).toBe(false);
      }
    }
  });

  test("is what a header must be, by a name in any case", async () => {
    expect(await holds({ "header:X-Type": "x" }, { headers: { "x-type": "x" } })).toBe(true);
    expect(await holds({ "header:X-Type": "x" }, { headers: { "x-type": "y" } })).toBe(false);
  });

  test("is what a parameter must be", async () => {
    expect(await holds({ "query:a.b": "x y" }, { query: "a.b=x+y" })).toBe(true);
    expect(await holds({ "query:a.b": "x y" }, { query: "a=x+y" })).toBe(false);
  });

  test("is what a field of a form must be, and what a whole text must be", async () => {
    expect(await holds({ "body:type": "a b" }, { form: "type=a+b" })).toBe(true);
    const headers = { "content-type": "text/plain" };
    expect(await holds({ "body:text": "validate me" }, { body: "validate me", headers })).toBe(true);
    expect(await holds({ "body:text": "validate" }, { body: "validate", headers })).toBe(true);
    expect(await holds({ "body:text": "validate" }, { body: "validate me", headers })).toBe(false);
  });

  test("of an entry of a list is found by its index", async () => {
    expect(await holds({ "body:a[1].b": "x" }, { json: { a: [{}, { b: "x" }] } })).toBe(true);
    expect(await holds({ "body:a[1].b": "x" }, { json: { a: [{ b: "x" }] } })).toBe(false);
  });
});

describe("alternatives", () => {
  test("are what one of must be there", async () => {
    const when: When = { "body:type": ["verification", "url_verification"] };
    expect(await holds(when, { json: { type: "verification" } })).toBe(true);
    expect(await holds(when, { json: { type: "url_verification" } })).toBe(true);
    expect(await holds(when, { json: { type: "other_verification" } })).toBe(false);
    expect(await holds(when, { json: {} })).toBe(false);
  });
});

describe("true", () => {
  test("is something", async () => {
    expect(await holds({ "body:a": true }, { json: { a: 0 } })).toBe(true);
    expect(await holds({ "query:a": true }, { query: "a=b" })).toBe(true);
    for (const json of [{}, { a: "" }, { a: null }, { a: {} }, { a: [] }]) {
      expect(await holds({ "body:a": true }, { json })).toBe(false);
    }
    expect(await holds({ "query:a": true }, { query: "a" })).toBe(false);
    expect(await holds({ "query:a": true }, { query: "b=c" })).toBe(false);
  });
});

describe("false", () => {
  test("is nothing", async () => {
    expect(await holds({ "body:a.b": false }, { json: { a: {} } })).toBe(true);
    expect(await holds({ "body:a.b": false }, { json: {} })).toBe(true);
    expect(await holds({ "body:a": false }, { body: "no data" })).toBe(true);
    expect(await holds({ "query:a": false }, { query: "b=1" })).toBe(true);
    expect(await holds({ "header:a": false }, {})).toBe(true);
  });

  test.each(["", 0, false, null, {}, [], "x"])("is not %j in the body", async (value) => {
    expect(await holds({ "body:a": false }, { json: { a: value } })).toBe(false);
  });

  test("is not an empty parameter or header", async () => {
    expect(await holds({ "query:a": false }, { query: "a" })).toBe(false);
    expect(await holds({ "header:a": false }, { headers: { a: "" } })).toBe(false);
  });
});

describe("an empty list", () => {
  test("has no entry", async () => {
    expect(await holds({ "body:a.events": { empty: true } }, { json: { a: { events: [] } } })).toBe(true);
    for (const events of [[1], {}, "", null, 0]) {
      expect(await holds({ "body:a.events": { empty: true } }, { json: { a: { events } } })).toBe(false);
    }
    expect(await holds({ "body:a.events": { empty: true } }, { json: {} })).toBe(false);
  });

  test.each(["header:a", "query:a"])("cannot be in %s", (source) => {
    expect(() => compile([handshakeOf({ [source]: { empty: true } })])).toThrow(
      new TypeError(`The handshake "check" cannot be used: "${source}" is never a list.`),
    );
  });
});

describe("several conditions", () => {
  test.each([
    ["header:a", "query:b"],
    ["header:a", "body:c"],
    ["query:b", "body:c"],
    ["body:c", "body:d"],
  ])("must all hold: %s and %s", async (first, second) => {
    const json = { c: "1", d: "1" };
    const sent: Sent = { headers: { a: "1" }, query: "b=1", json };
    expect(await holds({ [first]: "1", [second]: "1" }, sent)).toBe(true);
    expect(await holds({ [first]: "2", [second]: "1" }, sent)).toBe(false);
    expect(await holds({ [first]: "1", [second]: "2" }, sent)).toBe(false);
  });
});

describe("a body that is not inspected", () => {
  test("escapes letters that need none: no sender does", async () => {
    expect(await holds({ "body:challenge": true }, { body: '{"challenge":"x"}' })).toBe(true);
    expect(await holds({ "body:challenge": true }, { body: '{"\\u0063hallenge":"x"}' })).toBe(false);
    expect(await holds({ "body:type": "ping" }, { body: '{"type":"\\u0070ing"}' })).toBe(false);
    expect(await holds({ "body:type": ["ping"] }, { body: '{"type":"\\u0070ing"}' })).toBe(true);
  });

  test("escapes a character that a sender may escape", async () => {
    expect(await holds({ "body:a/b": true }, { body: '{"a\\/b":"x"}' })).toBe(true);
    expect(await holds({ "body:ä": "ö" }, { body: '{"\\u00e4":"\\u00f6"}' })).toBe(true);
    expect(await holds({ "body:a": "b/c" }, { body: '{"a":"b\\/c"}' })).toBe(true);
    expect(await holds({ "body:a": "b c" }, { form: "a=b+c" })).toBe(true);
    expect(await holds({ "body:a/b": "x" }, { form: "a%2Fb=x" })).toBe(true);
  });

  test("is a part of a larger buffer", () => {
    const whole = Buffer.from('{"type":"ping"}{"type":"pong"}');
    const call = { method: "POST", target: "/", headers: {}, receivedAt: 0, pathSecret: undefined };
    const ping = compile([handshakeOf({ "body:type": "ping" })]);
    expect(ping.verified({ ...call, body: whole.subarray(0, 15) })).toBeDefined();
    expect(ping.verified({ ...call, body: whole.subarray(15) })).toBeUndefined();
  });
});

describe("several handshakes", () => {
  const first = handshakeOf({ "body:a": true }, { name: "first" });
  const second = handshakeOf({ "body:b": true }, { name: "second", reply: { status: 201 } });

  test("are tried in order", async () => {
    const compiled = compile([first, second]);
    const sent = (json: unknown) => ({
      method: "POST",
      target: "/",
      headers: {},
      body: Buffer.from(JSON.stringify(json)),
      receivedAt: 0,
      pathSecret: undefined,
    });
    expect((await compiled.verified(sent({ a: 1, b: 1 })))?.name).toBe("first");
    expect((await compiled.verified(sent({ b: 1 })))?.name).toBe("second");
    expect(await compiled.verified(sent({ c: 1 }))).toBeUndefined();
  });

  test("name the methods that they take besides POST", () => {
    const methods = (...handshakes: Handshake[]) => [...compile(handshakes).methods].toSorted();
    expect(methods()).toEqual([]);
    expect(methods(first, second)).toEqual([]);
    expect(methods(first, { ...first, method: "GET" }, { ...first, method: "HEAD", verified: false })).toEqual([
      "GET",
      "HEAD",
    ]);
  });
});

describe("what is refused at load", () => {
  const refusal = (reason: string) => new TypeError(`The handshake "check" cannot be used: ${reason}.`);

  test.each([
    [{}],
    [{ when: {} }],
    [{ when: { "body:a": false as const } }],
    [{ when: {}, onlyKeys: ["events"] }],
    [{ when: {}, emptyBody: false }],
    [{ when: {}, method: "POST" as const, verified: false }],
  ])("a handshake that every POST would be: %j", (changes) => {
    const { when, ...rest } = handshakeOf({});
    expect(when).toEqual({});
    expect(() => compile([{ ...rest, ...changes }])).toThrow(refusal("every POST would be taken for it"));
  });

  test.each([
    [{ when: { "body:a": true as const } }],
    [{ when: {}, onlyKeys: [] }],
    [{ when: {}, emptyBody: true }],
    [{ when: {}, method: "GET" as const }],
  ])("not one that only some are: %j", (changes) => {
    expect(() => compile([handshakeOf({}, changes)])).not.toThrow();
  });

  test.each(["a", "pair:a", "path", "header:", "query:", "body:", "body:.", "body:a[]", "cookie:a", ":a", ""])(
    "a condition about a place that there is none of: %j",
    (source) => {
      expect(() => compile([handshakeOf({ [source]: true })])).toThrow(
        refusal(`"${source}" is no place in a header, the query or the body`),
      );
    },
  );

  test("the error keeps its cause", () => {
    const error: unknown = (() => {
      try {
        return compile([handshakeOf({})]);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toHaveProperty("cause", new TypeError("every POST would be taken for it"));
  });
});
