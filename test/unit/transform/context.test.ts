import { describe, expect, it } from "vitest";
import { contextFields, transformContext } from "../../../src/transform/context.ts";
import type { TransformContext } from "../../../src/transform/context.ts";
import { requestWith } from "../mapping/mappings.ts";

const RAW = Buffer.from('{"action":"opened"}');

/** What a transform is given, after the way that a context takes to its process. */
function given(changes: Parameters<typeof requestWith>[1] = {}): TransformContext {
  const context = requestWith({ action: "opened" }, changes);
  const fields = contextFields({ context, method: "POST", rawBody: RAW, deliveryId: "evt_1", basePath: "/hooks" });
  return transformContext(JSON.parse(JSON.stringify(fields)) as typeof fields, RAW);
}

describe("the context of a transform", () => {
  it("has all that is known of the request, also after it was text", () => {
    const headers = { "x-event": "push" };
    const query = { a: "1 & 2", b: "" };
    const sender = { name: "ada", id: "7", bot: true };
    const context = given({ headers, query, path: "github/push", event: "push", actor: sender });
    expect(context).toMatchObject({ payload: { action: "opened" }, headers, query, path: "github/push", sender });
    expect(context).toMatchObject({ method: "POST", event: "push", deliveryId: "evt_1", rawBody: RAW });
    expect(context.time.toISOString()).toBe("2026-02-03T04:05:06.007Z");
    expect(context.url.href).toBe("http://localhost/hooks/github/push?a=1+%26+2&b=");
  });

  it("says nothing of unknown facts", () => {
    expect([given().event, given().sender]).toEqual([undefined, undefined]);
  });

  it("keeps a path that looks like another host on localhost", () => {
    expect(given({ path: "//evil.example/x" }).url.host).toBe("localhost");
  });
});
