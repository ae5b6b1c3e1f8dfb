import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileTokens } from "../../../src/auth/token.ts";
import type { TokenCarrier } from "../../../src/auth/token.ts";
import { exchange, listen, statuses } from "../http/wire.ts";
import type { Listening } from "../http/wire.ts";

const TOKEN = "correct-horse-battery-staple-0123";
const OTHER = "the-other-token-in-rotation-45678";
const UNICODE = "пароль-à";

const check = compileTokens([TOKEN, OTHER, UNICODE], { tokenHeader: "x-service-token" });

let server: Listening;
beforeAll(async () => {
  server = await listen((req, res) => {
    res.statusCode = check.check(req) === undefined ? 401 : 200;
    res.end();
  });
});
afterAll(() => server.close());

/** The status of a request with these header lines, over a real connection. */
async function statusOf(...headerLines: string[]): Promise<number | undefined> {
  const lines = ["POST / HTTP/1.1", "Host: x", "Connection: close", "Content-Length: 0", ...headerLines, "", ""];
  return statuses(await exchange(server.port, Buffer.from(lines.join("\r\n"), "utf8")))[0];
}

describe("spec 5.2: accepted carriers", () => {
  test("spec 5.2: Authorization: Bearer <token> is accepted", async () => {
    expect(await statusOf(`Authorization: Bearer ${TOKEN}`)).toBe(200);
  });

  test("a header whose name is as long as that of Authorization is another one", async () => {
    expect(await statusOf(`Authorization: Bearer ${TOKEN}`, "X-Request-Abc: 1")).toBe(200);
  });

  test("spec 5.2: x-service-token: <token> is accepted", async () => {
    expect(await statusOf(`X-Service-Token: ${TOKEN}`)).toBe(200);
  });

  test("the header of OpenClaw's senders is accepted, behind the configured one", async () => {
    expect(await statusOf(`X-OpenClaw-Token: ${TOKEN}`)).toBe(200);
    expect(await statusOf("X-Service-Token: wrong", `X-OpenClaw-Token: ${TOKEN}`)).toBe(401);
    expect(await statusOf("X-OpenClaw-Token: wrong")).toBe(401);
  });

  test("spec 5.1: a request without any token is not accepted", async () => {
    expect(await statusOf()).toBe(401);
  });

  test("spec 5.1: the token must be equal to the configured one", async () => {
    expect(await statusOf(`Authorization: Bearer ${TOKEN}x`)).toBe(401);
    expect(await statusOf(`Authorization: Bearer ${TOKEN.slice(1)}`)).toBe(401);
    expect(await statusOf(`Authorization: Bearer ${TOKEN.toUpperCase()}`)).toBe(401);
  });

  test.each(["bearer", "BEARER", "BeArEr"])("the scheme is read without regard to case: %s", async (scheme) => {
    expect(await statusOf(`Authorization: ${scheme} ${TOKEN}`)).toBe(200);
  });

  test("blanks around the token are left out, in both carriers", async () => {
    expect(await statusOf(`Authorization: Bearer  \t ${TOKEN} \t `)).toBe(200);
    expect(await statusOf(`x-service-token: \t ${TOKEN} `)).toBe(200);
  });

  test("a wrong bearer is not rescued by a right header", async () => {
    expect(await statusOf("Authorization: Bearer wrong", `x-service-token: ${TOKEN}`)).toBe(401);
  });

  test("a right bearer is not spoiled by a wrong header", async () => {
    expect(await statusOf(`Authorization: Bearer ${TOKEN}`, "x-service-token: wrong")).toBe(200);
  });

  test.each([
    "Basic dTpw",
    `Digest ${TOKEN}x`,
    `Token ${TOKEN}`,
    "Bearer",
    "Bearer   ",
    `Bearer\t${TOKEN}x`,
    `Bearers ${TOKEN}x`,
    "",
  ])("the header is asked when Authorization holds no bearer: %j", async (value) => {
    expect(await statusOf(`Authorization: ${value}`, `x-service-token: ${TOKEN}`)).toBe(200);
    expect(await statusOf(`Authorization: ${value}`)).toBe(401);
  });

  test("the token alone, without a scheme, is no bearer", async () => {
    expect(await statusOf(`Authorization: ${TOKEN}`)).toBe(401);
  });

  test("two Authorization headers are ambiguous and refused, in either order, equal or not, in any case", async () => {
    const right = `Authorization: Bearer ${TOKEN}`;
    expect(await statusOf(right, "Authorization: Bearer wrong")).toBe(401);
    expect(await statusOf("Authorization: Bearer wrong", right)).toBe(401);
    expect(await statusOf(right, right)).toBe(401);
    expect(await statusOf(right, "aUTHORIZATION: Basic dTpw")).toBe(401);
    expect(await statusOf("Authorization: Basic dTpw", right, `x-service-token: ${TOKEN}`)).toBe(401);
  });

  test("two token headers are refused", async () => {
    expect(await statusOf(`x-service-token: ${TOKEN}`, `x-service-token: ${TOKEN}`)).toBe(401);
    expect(await statusOf(`x-service-token: ${TOKEN}`, "x-service-token: wrong")).toBe(401);
  });

  test("a token outside ASCII is accepted as its UTF-8 bytes", async () => {
    expect(await statusOf(`Authorization: Bearer ${UNICODE}`)).toBe(200);
    expect(await statusOf(`x-service-token: ${UNICODE}`)).toBe(200);
    expect(await statusOf("Authorization: Bearer пароль-á")).toBe(401);
  });

  test("the name of the token header is configurable, and then the default one counts no more", () => {
    const custom = compileTokens([TOKEN], { tokenHeader: "x-openclaw-token" });
    expect(custom.check(carrier({ "x-openclaw-token": TOKEN }))).toBeDefined();
    expect(custom.check(carrier({ "x-service-token": TOKEN }))).toBeUndefined();
  });

  test("a token header that is also a name of Object.prototype reads no inherited member", () => {
    const custom = compileTokens([TOKEN], { tokenHeader: "constructor" });
    expect(custom.check(carrier({}))).toBeUndefined();
  });
});

describe("credentials", () => {
  test("any of several tokens is accepted, each with an id of its own that does not disclose it", () => {
    const first = check.check(carrier({ authorization: `Bearer ${TOKEN}` }));
    const second = check.check(carrier({ authorization: `Bearer ${OTHER}` }));
    expect(first?.scheme).toBe("token");
    expect(first?.id).toMatch(/^[0-9a-f]{16}$/);
    expect(second?.id).toMatch(/^[0-9a-f]{16}$/);
    expect(second?.id).not.toBe(first?.id);
  });

  test("the id depends on the token alone: not on the carrier, the other tokens or their order", () => {
    const alone = compileTokens([OTHER], { tokenHeader: "x-t" }).check(carrier({ "x-t": OTHER }));
    expect(alone).toEqual(check.check(carrier({ authorization: `Bearer ${OTHER}` })));
  });

  test("blanks around a configured token do not count", () => {
    const trimmed = compileTokens([` ${TOKEN}\n`], { tokenHeader: "x-t" });
    expect(trimmed.check(carrier({ "x-t": TOKEN }))).toBeDefined();
  });

  test.each(["", " ", "\n"])("a blank token is refused when it is configured: %j", (token) => {
    expect(() => compileTokens([TOKEN, token], { tokenHeader: "x-t" })).toThrow("must not be blank");
  });

  test("without tokens nothing is accepted", () => {
    const none = compileTokens([], { tokenHeader: "x-t" });
    expect(none.check(carrier({ "x-t": "a" }))).toBeUndefined();
    expect(none.check(carrier({ "x-t": "\0" }))).toBeUndefined();
  });
});

describe("spec 5.1: a candidate is accepted exactly when it is one of the tokens", () => {
  const token = fc
    .string({ unit: "binary", minLength: 1, maxLength: 80 })
    .filter((text) => text.trim() === text && text !== "");

  test("spec 5.1: any two strings", () => {
    fc.assert(
      fc.property(token, token, (right, candidate) => {
        expect(accepts([right], wire(candidate))).toBe(right === candidate);
      }),
    );
  });

  test("spec 5.1: strings that nearly are the token", () => {
    const near = token.chain((right) =>
      fc.tuple(
        fc.constant(right),
        fc.nat(),
        fc.constantFrom("a", "b", "\0", "\u0100", "é"),
        fc.constantFrom("put", "add", "cut"),
      ),
    );
    fc.assert(
      fc.property(near, ([right, at, letter, how]) => {
        const bytes = wire(right);
        const index = at % bytes.length;
        const after = how === "add" ? index : index + 1;
        const candidate = bytes.slice(0, index) + (how === "cut" ? "" : wire(letter)) + bytes.slice(after);
        const trimmed = candidate.replaceAll(/^[ \t]+|[ \t]+$/g, "");
        expect(accepts([right], candidate)).toBe(trimmed === bytes);
      }),
    );
  });

  test("spec 5.1: one of several tokens, whatever their lengths", () => {
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 5 }), token, fc.nat(), (tokens, candidate, at) => {
        expect(accepts(tokens, wire(tokens[at % tokens.length]!))).toBe(true);
        expect(accepts(tokens, wire(candidate))).toBe(tokens.includes(candidate));
      }),
    );
  });

  test("characters that no header can hold are not cut down to bytes that match", () => {
    const shifted = Array.from(TOKEN, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0x100)).join("");
    expect(check.check(carrier({ authorization: `Bearer ${shifted}` }))).toBeUndefined();
  });

  test("a candidate as long as a header can be is refused, and the next right one accepted", () => {
    expect(check.check(carrier({ authorization: `Bearer ${TOKEN.repeat(2000)}` }))).toBeUndefined();
    expect(check.check(carrier({ authorization: `Bearer ${TOKEN}` }))).toBeDefined();
  });
});

/** A string as Node hands it over when its UTF-8 bytes are in a header. */
function wire(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function accepts(tokens: readonly string[], candidate: string): boolean {
  const compiled = compileTokens(tokens, { tokenHeader: "x-service-token" });
  const byBearer = compiled.check(carrier({ authorization: `Bearer ${candidate}` }));
  const byHeader = compiled.check(carrier({ "x-service-token": candidate }));
  expect(byHeader).toEqual(byBearer);
  return byBearer !== undefined;
}

function carrier(headers: Record<string, string>): TokenCarrier {
  return { headers, rawHeaders: Object.entries(headers).flat() };
}

describe("why a request is refused, for the log", () => {
  const problemOf = (headers: TokenCarrier["headers"], rawHeaders: readonly string[] = []): string =>
    check.problem({ headers, rawHeaders });

  test.each([
    ["there is no token", {}],
    ["authorization holds no bearer token", { authorization: "Basic abc" }],
    ["authorization holds no bearer token", { authorization: "Bearer" }],
    ["the token in authorization is wrong", { authorization: "Bearer wrong" }],
    ["the token in authorization is wrong", { authorization: "bearer wrong", "x-service-token": "also wrong" }],
    ["the token in x-service-token is wrong", { "x-service-token": "wrong", "x-openclaw-token": "wrong" }],
    ["the token in x-service-token is wrong", { authorization: "Basic abc", "x-service-token": "wrong" }],
    ["the token in x-openclaw-token is wrong", { "x-openclaw-token": "wrong" }],
  ])("%s", (problem, headers) => {
    expect(problemOf(headers)).toBe(problem);
  });

  test("there is more than one authorization header, whatever each of them holds", () => {
    const twice = ["Authorization", `Bearer ${TOKEN}`, "Host", "x", "AUTHORIZATION", "Bearer wrong"];
    const problem = "there is more than one authorization header";
    expect(problemOf({ authorization: `Bearer ${TOKEN}` }, twice)).toBe(problem);
    expect(problemOf({ authorization: "Bearer wrong" }, twice.slice(0, 4))).toBe("the token in authorization is wrong");
  });
});
