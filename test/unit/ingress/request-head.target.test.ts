import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileRequestTarget } from "../../../src/ingress/request-head.ts";
import type { RequestTarget } from "../../../src/ingress/request-head.ts";
import { exchange, listen } from "../http/wire.ts";
import type { Listening } from "../http/wire.ts";

const target = compileRequestTarget("/hooks");

describe("the path below the prefix", () => {
  test.each([
    ["/hooks/wake", "wake"],
    ["/hooks/github/push", "github/push"],
    ["/hooks//wake", "wake"],
    ["/hooks////wake", "wake"],
    ["/hooks/wake/", "wake/"],
    ["/hooks/a//b", "a//b"],
    ["/hooks/%77ake", "%77ake"],
    ["/hooks/Wake", "Wake"],
    ["/hooks/...", "..."],
    ["/hooks/v1.2", "v1.2"],
    ["/hooks/a%2fb", "a%2fb"],
    ["/hooks/wake?a=/../b", "wake"],
  ])("of %s is %s", (url, path) => {
    expect(target(url).path).toBe(path);
  });

  test.each(["/hooks", "/hooks/", "/hooks///", "/hooks?a=1", "/hooks/?a=1", "/", "", "*"])("of %j is empty", (url) => {
    expect(target(url).path).toBe("");
  });

  test.each(["/hooksX/wake", "/hooksX", "/Hooks/wake", "//hooks/wake", "/x/hooks/wake", "/hook", "hooks/wake", "x"])(
    "is empty outside the prefix: %s",
    (url) => {
      expect(target(url).path).toBe("");
    },
  );

  test.each([
    "/hooks/../hooks/wake",
    "/hooks/./wake",
    "/hooks/x/../wake",
    "/hooks/wake/..",
    "/hooks/wake/.",
    "/hooks/%2e%2E/wake",
    "/hooks/.%2e/wake",
    "/hooks/%2e/wake",
    "/hooks/..\\wake",
    "/hooks/a\\b",
    "/hooks/wake#x",
    "/hooks/#",
  ])("is empty where a normalizing proxy could mean another one: %s", (url) => {
    expect(target(url).path).toBe("");
  });

  test.each([
    ["http://localhost/hooks/wake?a=1", "wake"],
    ["HTTPS://user:pw@[::1]:8443/hooks/wake", "wake"],
    ["http:///hooks/wake", "wake"],
    ["http://localhost", ""],
    ["http://localhost?/hooks/wake", ""],
    ["ftp://localhost/hooks/wake", ""],
  ])("is read in absolute form: %s", (url, path) => {
    expect(target(url).path).toBe(path);
  });

  test("follows a prefix of several segments", () => {
    const deep = compileRequestTarget("/gateway/hooks");
    expect(deep("/gateway/hooks/wake").path).toBe("wake");
    expect(deep("/hooks/wake").path).toBe("");
  });

  test("never holds a segment that a normalizing proxy would resolve", () => {
    const piece = fc.constantFrom("/", ".", "..", "%2e", "%2E", "a", "\\", "%", "?", "#", "hooks", "/hooks/");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const url = `/hooks/${pieces.join("")}`;
        const { path } = target(url);
        if (path === "") return;
        const raw = url.slice("/hooks".length).split("?")[0]!.replace(/^\/+/, "");
        expect(path).toBe(raw);
        expect(new URL(`http://x/${path}`).pathname).toBe(`/${path}`);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("spec 5.3: a token in the query string", () => {
  test.each([
    "/hooks/wake?token=abc",
    "/hooks/wake?token=",
    "/hooks/wake?token",
    "/hooks/wake?a=1&token=abc",
    "/hooks/wake?a=1&&token&b=2",
    "/hooks/wake?%74oken=abc",
    "/hooks/wake?t%6fke%6E",
    "/hooks?token=abc",
    "/hooks/../x?token=abc",
    "http://localhost/hooks/wake?token=abc",
    `/hooks/wake?${"a=1&".repeat(300)}token=abc`,
    `/hooks/wake?a=${"x".repeat(20_000)}&token=abc`,
  ])("spec 5.3: is seen in %.60s", (url) => {
    const { hasQueryToken, query } = target(url);
    expect(hasQueryToken).toBe(true);
    expect(query).not.toHaveProperty("token");
  });

  test.each([
    "/hooks/wake",
    "/hooks/token",
    "/hooks/wake?",
    "/hooks/wake?Token=abc",
    "/hooks/wake?tokens=abc",
    "/hooks/wake?access_token=abc",
    "/hooks/wake?a=token",
    "/hooks/wake?a=?token=b",
    "/hooks/wake??token=abc",
    "/hooks/wake?+token=abc",
    "/hooks/wake?%2574oken=abc",
  ])("is a parameter named exactly so: %s has none", (url) => {
    expect(target(url).hasQueryToken).toBe(false);
  });

  test("is seen wherever URLSearchParams sees one", () => {
    const piece = fc.constantFrom("token", "%74", "oken", "=", "&", "?", "a", "+", "%", "%zz", ";", "T");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const search = pieces.join("");
        expect(target(`/hooks/wake?${search}`).hasQueryToken).toBe(new URLSearchParams(`?${search}`).has("token"));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the query", () => {
  test.each<[string, Record<string, string>]>([
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a=1&a=2&a=3", { a: "3" }],
    ["a", { a: "" }],
    ["a=", { a: "" }],
    ["=1", { "": "1" }],
    ["a=b=c", { a: "b=c" }],
    ["a+b=c+d", { "a b": "c d" }],
    ["a%20b=c%2Bd", { "a b": "c+d" }],
    ["a=%C3%A9", { a: "é" }],
    ["a=%", { a: "%" }],
    ["a=%zz%41", { a: "%zzA" }],
    ["a=%FF", { a: "\uFFFD" }],
    ["&&a=1&&", { a: "1" }],
    ["a=1;b=2", { a: "1;b=2" }],
    ["constructor=1", { constructor: "1" }],
  ])("of ?%s is read", (search, expected) => {
    expect({ ...target(`/hooks/wake?${search}`).query }).toEqual(expected);
  });

  test("has no prototype, and a name like __proto__ is a name like any other", () => {
    const { query } = target("/hooks/wake?__proto__=1&toString=2");
    expect(Object.getPrototypeOf(query)).toBeNull();
    expect(Object.entries(query)).toEqual([
      ["__proto__", "1"],
      ["toString", "2"],
    ]);
    expect(Object.getPrototypeOf(target("/hooks/wake").query)).toBeNull();
  });

  test("holds none of the parameters that carry a credential", () => {
    const search =
      "access_token=1&API_KEY=2&apikey=3&secret=4&password=5&client-secret=6&X-Amz-Security-Token=7&auth=8&sig=9&Code=10";
    expect(target(`/hooks/wake?${search}&key=PROJ-1&signature=11`).query).toEqual({
      key: "PROJ-1",
      signature: "11",
    });
  });

  test("is read up to its 100th parameter", () => {
    const search = Array.from({ length: 150 }, (_, index) => `p${index}=${index}`).join("&");
    const { query } = target(`/hooks/wake?${search}`);
    expect(Object.keys(query)).toHaveLength(100);
    expect(query["p99"]).toBe("99");
  });

  test("is read up to its 16,384th character, and no parameter is cut", () => {
    const fits = target(`/hooks/wake?a=${"x".repeat(16_382)}&b=1`).query;
    expect(fits["a"]).toHaveLength(16_382);
    expect(Object.keys(fits)).toEqual(["a"]);
    expect(Object.keys(target(`/hooks/wake?a=${"x".repeat(16_383)}&b=1`).query)).toEqual([]);
  });

  test("is what URLSearchParams reads, but for credentials", () => {
    const piece = fc.constantFrom("a", "b", "=", "&", "+", "%41", "%", "%C3%A9", "%2B", "?", "é");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
        const search = pieces.join("");
        const expected = Object.fromEntries(new URLSearchParams(`?${search}`));
        expect({ ...target(`/hooks/wake?${search}`).query }).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("targets as Node's server hands them over", () => {
  let server: Listening;
  const seen: RequestTarget[] = [];
  beforeAll(async () => {
    server = await listen((req, res) => {
      seen.push(target(req.url ?? ""));
      res.end();
    });
  });
  afterAll(() => server.close());

  test.each([
    ["POST /hooks/wake?token=1", "wake", true],
    ["POST http://localhost/hooks/wake", "wake", false],
    ["POST /hooks/../hooks/wake", "", false],
    ["POST /hooks//wake", "wake", false],
    ["OPTIONS *", "", false],
  ])("%s", async (line, path, hasQueryToken) => {
    await exchange(server.port, `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    expect(seen.pop()).toMatchObject({ path, hasQueryToken });
  });
});
