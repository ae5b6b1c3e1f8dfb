import { describe, expect, it } from "vitest";
import { transformContext } from "../../../src/transform/transform.ts";

describe("transformContext", () => {
  it("gives a transform the payload, the headers, the path and a URL on localhost", () => {
    const payload = { action: "opened" };
    const headers = { "x-event": "push" };
    const query = { a: "1 & 2", b: "" };
    const context = transformContext({ payload, headers, query, path: "github/push", now: new Date(0) });
    expect(context.payload).toBe(payload);
    expect(context.headers).toBe(headers);
    expect(context.path).toBe("github/push");
    expect(context.url.href).toBe("http://localhost/github/push?a=1+%26+2&b=");
  });

  it("keeps a path that looks like another host on localhost", () => {
    const { url } = transformContext({
      payload: {},
      headers: {},
      query: {},
      path: "//evil.example/x",
      now: new Date(0),
    });
    expect(url.host).toBe("localhost");
  });
});
