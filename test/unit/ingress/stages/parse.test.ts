import { describe, expect, it } from "vitest";
import type { RawRequest } from "../../../../src/core/delivery.ts";
import { parse } from "../../../../src/ingress/stages/parse.ts";
import { verifiedRequest } from "./stage-bench.ts";

const JSON_ONLY = { accept: ["json"], maxDepth: 64 } as const;

const parsed = (body: string, changes: Partial<RawRequest> = {}, options: Parameters<typeof parse>[1] = JSON_ONLY) =>
  parse(verifiedRequest("ci", body, changes), options);

describe("parse", () => {
  it("makes of the body what mappings, transforms and taps see: the payload, and no credential", () => {
    const headers = { "content-type": "application/json", "x-event": "push" };
    expect(parsed('{"repo": "site"}', { headers, query: { a: "1" } })).toEqual({
      context: {
        path: "ci",
        headers,
        query: { a: "1" },
        payload: { repo: "site" },
        now: new Date("2026-02-03T04:05:06.007Z"),
      },
      format: "json",
      bodyPayload: { repo: "site" },
    });
  });

  it("spec 4: takes a JSON body whatever its Content-Type says", () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect(parsed('{"a": 1}', { headers })).toMatchObject({ context: { payload: { a: 1 } }, format: "json" });
  });

  it("reads a form or text for a mapping that takes it", () => {
    const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const text = { headers: { "content-type": "text/plain" } };
    const options = { accept: ["form", "text"], maxDepth: 64 } as const;
    expect(parsed("a=1&b=2", form, options)).toMatchObject({
      context: { payload: { a: "1", b: "2" } },
      format: "form",
    });
    expect(parsed("hello", text, options)).toMatchObject({ context: { payload: { text: "hello" } }, format: "text" });
    expect(parsed("a=1", form)).toMatchObject({ refused: "UNSUPPORTED_MEDIA_TYPE" });
  });

  it.each<[string, string, object]>([
    ["not JSON", "{", { refused: "INVALID_JSON", message: "The body is not valid JSON; send JSON." }],
    [
      "nested too deeply",
      "[[[]]]",
      { refused: "TOO_DEEP", message: "The JSON body is nested deeper than 2 levels; send a flatter one." },
    ],
  ])("spec 7: refuses a body that is %s, in words for the caller", (_case, body, refusal) => {
    expect(parsed(body, {}, { accept: [], maxDepth: 2 })).toMatchObject(refusal);
  });

  it("spec 7: refuses a body that is not UTF-8", () => {
    expect(parsed("", { body: Buffer.from([0x7b, 0xff, 0x7d]) })).toMatchObject({ refused: "INVALID_UTF8" });
  });
});
