import { describe, expect, test } from "vitest";
import type { Handshake } from "../../../../src/config/handshake.ts";
import { answerTo, compile, content, empty, json, plain } from "./handshake-bench.ts";
import { answerOf, handshakeOf, refusal, SENT } from "./reply-bench.ts";

describe("a text", () => {
  test.each([
    ["", ""],
    ["ok", "ok"],
    ['{"ok":true} { } {}', '{"ok":true} { } {}'],
    ["{body:a[0].b}", "from body"],
    ["{body:n}{body:yes}", "7true"],
    ["<{query:q.r}|{header:X-Name}>", "<from query|from-header>"],
    ["{setting:s}-{setting:n}-{setting:no}-{setting:list}", "a setting-5-false-first"],
  ])("%j is written as %j", async (text, written) => {
    expect(await answerOf({ text }, { s: "a setting", n: 5, no: false, list: ["first", "second"] })).toEqual(
      plain(written),
    );
  });

  test.each([
    "{body:missing}",
    "{body:a}",
    "{query:missing}",
    "{header:missing}",
    "{setting:missing}",
    "{setting:empty}",
    "{url}",
  ])("with %s where there is no such value is not given", async (placeholder) => {
    expect(await answerOf({ text: `before ${placeholder}` }, { empty: "" })).toBeUndefined();
    expect(await answerOf({ json: { a: placeholder } })).toBeUndefined();
    expect(await answerOf({ json: { a: ["x", placeholder] } })).toBeUndefined();
    expect(await answerOf({ headers: { a: placeholder } })).toBeUndefined();
  });

  test("half a character is not repeated", async () => {
    expect(await answerOf({ text: "{body:half}" })).toBeUndefined();
  });

  test("{url} is the public URL without the query", async () => {
    const handshake = handshakeOf({ text: "{url}" });
    const publicUrl = "https://gateway.example.com";
    const expected = plain("https://gateway.example.com/hooks/sender");
    expect((await answerTo(handshake, SENT, { publicUrl }))?.answer).toEqual(expected);
    expect((await answerTo(handshake, { ...SENT, query: "" }, { publicUrl }))?.answer).toEqual(expected);
  });
});

describe("JSON", () => {
  test("holds texts, numbers, booleans and lists", async () => {
    const written = { s: "{body:n}", n: 1.5, yes: true, no: false, none: [], list: ["{header:x-name}", 2, false] };
    expect(await answerOf({ json: written })).toEqual(
      json('{"s":"7","n":1.5,"yes":true,"no":false,"none":[],"list":["from-header",2,false]}'),
    );
  });

  test("may be an empty object", async () => {
    expect(await answerOf({ json: {} })).toEqual(json("{}"));
  });

  test("keeps a key that a prototype has", async () => {
    const written = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, string>;
    expect((await answerOf({ json: written }))?.payload).toBe('{"__proto__":"x","constructor":"y"}');
  });
});

describe("computed values", () => {
  test("may be several, in texts and headers", async () => {
    const handshake = handshakeOf(
      { text: "{computed:a}.{computed:b}", headers: { "x-a": "v={computed:a}" } },
      {
        computed: {
          a: { algorithm: "sha256", encoding: "hex", of: "abc" },
          b: { algorithm: "sha256", encoding: "base64", of: "{body:n}" },
        },
      },
    );
    const a = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const b = "eQJpm+QsiloL9TgGSVpNFAmgkzbIgmRIBNRmK7OZnJY=";
    const answer = (await answerTo(handshake, SENT))?.answer;
    expect(answer?.headers["x-a"]).toBe(`v=${a}`);
    expect(answer?.payload.startsWith(`${a}.`)).toBe(true);
    expect(answer?.payload).toHaveLength(a.length + 1 + b.length);
  });

  test("that have no source are missing", async () => {
    const computed = { a: { algorithm: "sha256", encoding: "hex", of: "{body:missing}" } } as const;
    expect(await answerTo(handshakeOf({ text: "{computed:a}" }, { computed }), SENT)).toBeUndefined();
  });

  test.each([
    ["{computed:a}", "{computed:a} is not among what is computed"],
    ["{nonce}", "{nonce} is not known"],
    ["{body}", '"body:" is no place in a header, the query or the body'],
    ["", "a computed value does not say what it is computed from"],
  ])("derived from %j are refused at load", (of, reason) => {
    const computed = { a: { algorithm: "sha256", encoding: "hex", of } } as const;
    expect(() => compile([handshakeOf({}, { computed })])).toThrow(refusal(reason));
  });

  test("without a source are refused at load", () => {
    const computed = JSON.parse('{"a":{"algorithm":"sha256","encoding":"hex"}}') as Handshake["computed"];
    expect(() => compile([handshakeOf({}, { computed: computed! })])).toThrow(
      refusal("a computed value does not say what it is computed from"),
    );
  });
});

describe("answers without content", () => {
  test("have neither type nor content", async () => {
    expect(await answerOf({ status: 202 })).toEqual(empty(202));
    expect(await answerOf({ status: 204 })).toEqual(empty(204));
  });

  test("may have a type all the same, as Discord needs it", async () => {
    expect(await answerOf({ status: 204, headers: { "Content-Type": "application/json" } })).toEqual(
      empty(204, { "content-type": "application/json" }),
    );
  });

  test("are given to HEAD, whatever the reply says", async () => {
    const handshake = handshakeOf({ text: "ok", headers: { "x-a": "b" } }, { method: "HEAD", when: {} });
    expect((await answerTo(handshake, { method: "HEAD" }))?.answer).toEqual(empty(200, { "x-a": "b" }));
  });

  test.each([204, 205])("is impossible where there is content: %i", (status) => {
    for (const reply of [{ text: "" }, { json: {} }]) {
      expect(() => compile([handshakeOf({ status, ...reply })])).toThrow(refusal(`an answer ${status} has no content`));
    }
  });

  test("any other status may have content", async () => {
    expect(await answerOf({ status: 201, text: "x" })).toEqual(content(201, "text/plain; charset=utf-8", "x"));
  });

  test("text and JSON at once are refused at load", () => {
    expect(() => compile([handshakeOf({ text: "", json: {} })])).toThrow(refusal("its reply has both text and json"));
  });
});

describe("placeholders that are refused at load", () => {
  test.each([
    ["{challenge}", "{challenge} is not known"],
    ["{pair:t}", "{pair:t} is not known"],
    ["{setting}", "{setting} names no setting"],
    ["{computed:none}", "{computed:none} is not among what is computed"],
    ["{computed}", "{computed} is not among what is computed"],
    ["{body}", '"body:" is no place in a header, the query or the body'],
    ["{body:a[].b}", '"body:a[].b" is no place in a header, the query or the body'],
    ["{header}", '"header:" is no place in a header, the query or the body'],
  ])("%s", (placeholder, reason) => {
    for (const reply of [
      { text: `a${placeholder}` },
      { json: { a: placeholder } },
      { json: { a: [1, placeholder] } },
      { headers: { a: placeholder } },
    ]) {
      expect(() => compile([handshakeOf(reply)])).toThrow(refusal(reason));
    }
  });
});

describe("secrets", () => {
  const replies = [
    { text: "x{setting:token}" },
    { json: { a: "{setting:token}" } },
    { json: { a: [1, "{setting:token}"] } },
    { headers: { a: "{setting:token}" } },
  ];

  test.each(replies)("a setting that requests are compared with is never disclosed: %j", (reply) => {
    const when = { "body:type": ["a"], "query:token": { setting: "token" }, "query:q": { setting: "other" } };
    expect(() => compile([handshakeOf(reply, { when })])).toThrow(
      refusal('its reply would reveal the secret setting "token"'),
    );
    expect(() => compile([handshakeOf(reply, { when: { "query:q": { setting: "other" } } })])).not.toThrow();
  });

  test.each(replies)("a secret of the route is never disclosed, whatever setting has it too: %j", (reply) => {
    const context = { secrets: ["first", "second"], settings: { token: ["other", "second"] } };
    expect(() => compile([handshakeOf(reply)], context)).toThrow(
      refusal('its reply would reveal the secret setting "token"'),
    );
    expect(() => compile([handshakeOf(reply)], { ...context, secrets: ["third"] })).not.toThrow();
  });

  test("a value of the request may have the name of such a setting", async () => {
    const when = { "body:n": { setting: "n" } };
    const handshake = handshakeOf({ text: "{body:n}" }, { when });
    expect((await answerTo(handshake, SENT, { settings: { n: 7 } }))?.answer).toEqual(plain("7"));
  });

  test("they may be hashed", async () => {
    const handshake = handshakeOf(
      { text: "{computed:a}" },
      {
        when: { "query:q.r": { setting: "token" } },
        computed: { a: { algorithm: "sha256", encoding: "hex", of: "{setting:token}" } },
      },
    );
    const answer = await answerTo(handshake, SENT, { settings: { token: "from query" } });
    expect(answer?.answer.payload).toHaveLength(64);
  });
});

describe("errors while compiling that are not about the data", () => {
  test("pass through unchanged", () => {
    const settings = new Proxy(
      {},
      {
        getOwnPropertyDescriptor() {
          throw new RangeError("broken settings");
        },
      },
    );
    expect(() => compile([handshakeOf({ text: "{setting:a}" })], { settings })).toThrow(
      new RangeError("broken settings"),
    );
  });
});
