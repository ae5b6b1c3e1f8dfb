import { describe, expect, test } from "vitest";
import type { Handshake } from "../../../../src/config/handshake.ts";
import { answerTo, callOf, compile, empty, json, plain } from "./handshake-bench.ts";
import type { Sent } from "./handshake-bench.ts";
import { SENDERS } from "./sender-handshakes.ts";

const handshakeOf = (sender: string): Handshake => SENDERS.find((row) => row.sender === sender)!.handshake;

const monday = handshakeOf("monday.com");
const meta = handshakeOf("Meta");
const graph = handshakeOf("Microsoft Graph, POST");
const nylas = handshakeOf("Nylas and Dropbox");
const okta = handshakeOf("Okta");
const ringCentral = handshakeOf("RingCentral");

const TOKEN = "verify-token-of-the-owner";
const subscribe = (token: string): Sent => ({
  method: "GET",
  query: `hub.mode=subscribe&hub.challenge=1&hub.verify_token=${encodeURIComponent(token)}`,
});

describe("the shape of an unsigned body", () => {
  const exact = { challenge: "abc" };

  test.each([
    ["another key", { challenge: "abc", event: {} }],
    ["a key named constructor", { challenge: "abc", constructor: 1 }],
    ["no challenge", {}],
    ["an empty challenge", { challenge: "" }],
    ["a challenge of null", { challenge: null }],
    ["a challenge that is an object", { challenge: { challenge: "abc" } }],
    ["a challenge that is a list", { challenge: ["abc"] }],
    ["a list around it", [exact]],
    ["a scalar", "challenge"],
  ])("with %s it is no handshake", async (_, body) => {
    expect(await answerTo(monday, { json: body })).toBeUndefined();
  });

  test("a challenge that only a prototype could supply is none", async () => {
    expect(await answerTo(monday, { body: '{"__proto__":{"challenge":"abc"}}' })).toBeUndefined();
  });

  test("what the parser drops does not come back in the answer", async () => {
    const answer = await answerTo(monday, { body: '{"challenge":"abc","__proto__":{"x":1}}' });
    expect(answer?.answer).toEqual(json('{"challenge":"abc"}'));
  });

  test.each(["{", "challenge", '{"challenge":"abc"', "challenge: abc", '"challenge"'])(
    "a body that is no JSON object is no handshake: %s",
    async (body) => {
      expect(await answerTo(monday, { body })).toBeUndefined();
    },
  );

  test("a body that is not UTF-8 is no handshake", () => {
    const call = { ...callOf({}), body: Buffer.from('{"challenge":"\xff"}', "latin1") };
    expect(compile([monday]).unverified(call)).toBeUndefined();
  });

  test("a body of 16 KiB may be a handshake, and one byte more is none", async () => {
    const body = '{"challenge":"abc"}'.padEnd(16_384);
    expect(await answerTo(monday, { body })).toBeDefined();
    expect(await answerTo(monday, { body: `${body} ` })).toBeUndefined();
  });

  test("the size counts although nothing of the body is inspected", async () => {
    const ssl: Handshake = { name: "x", verified: true, when: { "header:x-check": true }, reply: { status: 200 } };
    const headers = { "x-check": "1" };
    expect(await answerTo(ssl, { headers, body: " ".repeat(16_384) })).toBeDefined();
    expect(await answerTo(ssl, { headers, body: " ".repeat(16_385) })).toBeUndefined();
  });

  test.each(["[]", "[1]", "{", "no data", "\u0000"])(
    "where no key is allowed it has no other content either: %j",
    async (body) => {
      const headers = { "validation-token": "abc" };
      expect(await answerTo(ringCentral, { headers, body: "{}" })).toBeDefined();
      expect(await answerTo(ringCentral, { headers, body })).toBeUndefined();
    },
  );

  test("its keys do not restrict the query", async () => {
    expect(await answerTo(monday, { json: { challenge: "abc" }, query: "team=1" })).toBeDefined();
  });

  test("without onlyKeys other keys do not matter, and none of them comes back", async () => {
    const { onlyKeys, ...loose } = monday;
    expect(onlyKeys).toEqual(["challenge"]);
    const answer = await answerTo(loose, { json: { challenge: "abc", event: { text: "wake" } } });
    expect(answer?.answer).toEqual(json('{"challenge":"abc"}'));
  });
});

describe("the shape of an unsigned query", () => {
  test("another parameter makes it no handshake", async () => {
    expect(await answerTo(nylas, { method: "GET", query: "challenge=a" })).toBeDefined();
    expect(await answerTo(nylas, { method: "GET", query: "challenge=a&event=b" })).toBeUndefined();
  });

  test("its keys do not restrict the body of a verified request", async () => {
    const verified = { ...nylas, verified: true };
    expect(await answerTo(verified, { method: "GET", query: "challenge=a", json: { other: 1 } })).toBeDefined();
  });

  test("a parameter of the name of a prototype makes it no handshake", async () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      expect(await answerTo(nylas, { method: "GET", query: `challenge=a&${name}=b` })).toBeUndefined();
    }
  });

  test("a repeated parameter makes it no handshake, wherever it stands and whether it is used", async () => {
    expect(await answerTo(nylas, { method: "GET", query: "challenge=a&challenge=a" })).toBeUndefined();
    expect(await answerTo(graph, { query: "validationToken=a&x=1" })).toBeDefined();
    expect(await answerTo(graph, { query: "validationToken=a&x=1&x=1" })).toBeUndefined();
  });

  test("a verified request may repeat a parameter", async () => {
    const front = { ...handshakeOf("Front") };
    const sent = { query: "a=1&a=2", headers: { "x-front-challenge": "abc" } };
    expect((await answerTo(front, sent))?.answer).toEqual(plain("abc", { "x-front-challenge": "abc" }));
  });

  test("without the parameter there is nothing to answer", async () => {
    expect(await answerTo(nylas, { method: "GET" })).toBeUndefined();
    expect(await answerTo(nylas, { method: "GET", query: "challenge=" })).toBeUndefined();
  });

  test("a query that is none is no handshake where one is needed", async () => {
    expect(await answerTo(graph, { query: "" })).toBeUndefined();
  });

  test("an unsigned request by a method that has no body is none with one", async () => {
    for (const [handshake, sent] of [
      [nylas, { method: "GET", query: "challenge=a" }],
      [handshakeOf("Trello and Circle"), { method: "HEAD" }],
    ] as const) {
      expect(await answerTo(handshake, sent)).toBeDefined();
      expect(await answerTo(handshake, { ...sent, body: "{}" })).toBeUndefined();
    }
  });

  test("a verified request by such a method may have one", async () => {
    expect(
      await answerTo({ ...nylas, verified: true }, { method: "GET", query: "challenge=a", body: "{}" }),
    ).toBeDefined();
  });

  test("a body where there must be none makes it no handshake", async () => {
    expect(await answerTo(graph, { query: "validationToken=a" })).toBeDefined();
    expect(await answerTo(graph, { query: "validationToken=a", body: " " })).toBeUndefined();
    expect(await answerTo(handshakeOf("Exact Online"), { json: {} })).toBeUndefined();
  });

  test("emptyBody: false asks for nothing", async () => {
    const loose = { ...graph, emptyBody: false };
    expect(await answerTo(loose, { query: "validationToken=a", body: "{}" })).toBeDefined();
    expect(await answerTo(loose, { query: "validationToken=a" })).toBeDefined();
  });
});

describe("a verify token", () => {
  test.each(["", "x", "verify-token-of-the-owne", "verify-token-of-the-owner ", "Verify-token-of-the-owner"])(
    "must be equal: %j is not answered",
    async (token) => {
      expect(await answerTo(meta, subscribe(token), { settings: { verifyToken: TOKEN } })).toBeUndefined();
    },
  );

  test("may be one of several in rotation", async () => {
    const settings = { verifyToken: ["first-token", TOKEN, "third-token"] };
    for (const token of settings.verifyToken) {
      expect((await answerTo(meta, subscribe(token), { settings }))?.answer).toEqual(plain("1"));
    }
    expect(await answerTo(meta, subscribe("first-token,third-token"), { settings })).toBeUndefined();
  });

  test.each([[{}], [{ verifyToken: "" }], [{ verifyToken: undefined }], [{ verifyToken: [] }], [{ verifyToken: {} }]])(
    "that is not set is never right: %j",
    async (settings) => {
      for (const token of ["", "undefined", "[object Object]", "null"]) {
        expect(await answerTo(meta, subscribe(token), { settings })).toBeUndefined();
      }
    },
  );

  test("that only a prototype has is not set", async () => {
    const settings = Object.create({ verifyToken: TOKEN }) as Record<string, unknown>;
    expect(await answerTo(meta, subscribe(TOKEN), { settings })).toBeUndefined();
  });

  test("that is missing from the request is wrong", async () => {
    const sent = { method: "GET", query: "hub.mode=subscribe&hub.challenge=1" };
    expect(await answerTo(meta, sent, { settings: { verifyToken: TOKEN } })).toBeUndefined();
  });

  test("may be a number in the settings", async () => {
    expect(await answerTo(meta, subscribe("12345"), { settings: { verifyToken: 12_345 } })).toBeDefined();
  });
});

describe("what is repeated", () => {
  test.each([1, 2_048])("a challenge of %i characters is", async (length) => {
    const challenge = "a".repeat(length);
    expect((await answerTo(monday, { json: { challenge } }))?.answer).toEqual(json(`{"challenge":"${challenge}"}`));
  });

  test("a challenge of 2,049 characters is not", async () => {
    expect(await answerTo(monday, { json: { challenge: "a".repeat(2_049) } })).toBeUndefined();
  });

  test.each(["\u0000", "\t", "\n", "\r", "\u001f", "\u007f", "\u0085", "\u009f", "\u2028", "\u2029", "\ud800"])(
    "a challenge with %j is not",
    async (character) => {
      expect(await answerTo(monday, { json: { challenge: `a${character}b` } })).toBeUndefined();
    },
  );

  test.each([" ", "~", "\u00a0", "ä", "<script>", "😀"])("a challenge with %j is", async (character) => {
    expect(await answerTo(monday, { json: { challenge: `a${character}b` } })).toBeDefined();
  });

  test("control characters that a query brings escaped are not repeated", async () => {
    for (const escaped of ["%0d%0a", "%00", "%E2%80%A8"]) {
      expect(await answerTo(nylas, { method: "GET", query: `challenge=a${escaped}b` })).toBeUndefined();
    }
  });

  test.each(["a\r\nset-cookie: a=b", "a\nb", "a\rb", "a b", "a\tb", "ä", "\u0000", "a, b", "\u007f", ""])(
    "a header of %j is not repeated as a header",
    async (value) => {
      expect(await answerTo(ringCentral, { headers: { "validation-token": value } })).toBeUndefined();
    },
  );

  test.each(["!", "~", "a".repeat(2_048)])("visible ASCII is repeated as a header: %j", async (value) => {
    const answer = await answerTo(ringCentral, { headers: { "validation-token": value } });
    expect(answer?.answer).toEqual(empty(200, { "validation-token": value }));
  });

  test("a header of 2,049 characters is not repeated", async () => {
    expect(await answerTo(ringCentral, { headers: { "validation-token": "a".repeat(2_049) } })).toBeUndefined();
  });

  test("a header is repeated in JSON as text", async () => {
    const sent = { method: "GET", headers: { "x-okta-verification-challenge": '"},{' } };
    expect((await answerTo(okta, sent))?.answer.payload).toBe('{"verification":"\\"},{"}');
  });
});
