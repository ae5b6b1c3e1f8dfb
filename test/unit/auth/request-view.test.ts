import { describe, expect, it } from "vitest";
import { queryOf, requestViewOf } from "../../../src/auth/request-view.ts";
import { HooksSchema } from "../../../src/config/hooks.ts";
import type { IncomingRequest } from "../../../src/auth/verifier.ts";

function callOf(body: string | Uint8Array, contentType?: string, target = "/hooks/x"): IncomingRequest {
  return {
    method: "POST",
    target,
    headers: contentType === undefined ? {} : { "content-type": contentType },
    body: typeof body === "string" ? Buffer.from(body) : body,
    receivedAt: 0,
    pathSecret: undefined,
  };
}

describe("the view of a call", () => {
  it.each<[string, string | undefined, unknown]>([
    ['{"a":1}', undefined, { a: 1 }],
    ['{"a":1}', "text/plain", { a: 1 }],
    ["a=1&a=2", "application/x-www-form-urlencoded", { a: "2" }],
    ["Hello", "text/plain", { text: "Hello" }],
    ["Hello", "application/json", undefined],
    ["Hello", "application/xml", undefined],
    ["", undefined, {}],
    ["[".repeat(1_025) + "]".repeat(1_025), "application/json", undefined],
  ])("has the payload of %j as %s", (body, contentType, payload) => {
    expect(requestViewOf(callOf(body, contentType)).payload).toEqual(payload);
  });

  it("has the payload of a body that is as deep as a configuration can allow", () => {
    const deepest = (HooksSchema.properties.maxDepth as { readonly maximum?: number }).maximum!;
    const body = `${'{"a":'.repeat(deepest - 1)}{"key":1}${"}".repeat(deepest - 1)}`;
    expect(requestViewOf(callOf(body, "application/json")).payload).toEqual(JSON.parse(body));
  });

  it("reads the payload once, also when there is none", () => {
    let reads = 0;
    const call = callOf("{");
    const counted: IncomingRequest = {
      ...call,
      get body() {
        reads++;
        return call.body;
      },
    };
    const view = requestViewOf(counted);
    expect([view.payload, view.payload]).toEqual([undefined, undefined]);
    expect(reads).toBe(1);
  });

  it("has the headers, and the query read once", () => {
    const call = callOf("", "text/plain", "/hooks/x?a=1");
    const view = requestViewOf(call);
    expect(view.headers).toBe(call.headers);
    expect(view.query).toEqual({ a: "1" });
    expect(view.query).toBe(view.query);
  });
});

describe("queryOf", () => {
  it.each<[string, Record<string, string>]>([
    ["/x", {}],
    ["/x?", {}],
    ["?a=1", { a: "1" }],
    ["/x?a=1&b=%C3%BC+%2B", { a: "1", b: "ü +" }],
    ["/x?a=1&a=2", { a: "2" }],
    ["/x?a=?", { a: "?" }],
    ["/x?a", { a: "" }],
  ])("reads %s", (target, query) => {
    expect({ ...queryOf(target) }).toEqual(query);
  });

  it("has no prototype that a parameter could be taken for", () => {
    expect(Object.getPrototypeOf(queryOf("/x"))).toBeNull();
    expect(Object.keys(queryOf("/x?__proto__=1"))).toEqual(["__proto__"]);
  });
});
