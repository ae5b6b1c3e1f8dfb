/** A transform's payload, which its process reads from the body where that gives the same. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOOK_TOKEN } from "../gateway-process.ts";
import { RunningGateway } from "../http/running-gateway.ts";

const SHOW = "export default ({ payload, rawBody }) => ({ message: JSON.stringify([payload, rawBody.byteLength]) });";

describe("the payload of a transform", () => {
  let gateway: RunningGateway;

  beforeAll(async () => {
    const show = { transform: { module: "show.mjs" }, action: "agent", messageTemplate: "x" };
    gateway = await RunningGateway.start({
      hooks: {
        token: HOOK_TOKEN,
        mappings: [
          { match: { path: "whole" }, ...show },
          { match: { path: "items" }, forEach: "list", ...show },
          { match: { path: "form" }, accept: ["form"], ...show },
        ],
      },
      transforms: { "show.mjs": SHOW },
    });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  async function shown(path: string, body: string, type = "application/json"): Promise<unknown[]> {
    const response = await fetch(`${gateway.url}/hooks/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": type },
      body,
    });
    const { deliveryId } = (await response.json()) as { readonly deliveryId: string };
    const { runs } = await gateway.delivery(deliveryId);
    return runs.map(({ spec }) => JSON.parse("message" in spec ? spec.message : "null") as unknown);
  }

  it.each([
    ['{"a":["ü",1.5,null,{}]}', { a: ["ü", 1.5, null, {}] }],
    ['\uFEFF {"a":1}\n', { a: 1 }],
    ['{"id":12345678901234567890}', { id: "12345678901234567890" }],
    ['{"a":1,"constructor":{"prototype":{"b":2}},"__proto__":{"c":3}}', { a: 1 }],
    ["[1,2]", [1, 2]],
    ["", {}],
  ])("of %j", async (body, payload) => {
    expect(await shown("whole", body)).toEqual([[payload, Buffer.byteLength(body)]]);
  });

  it("of an item has that item alone in the list", async () => {
    const body = '{"list":[{"n":1},{"n":2}],"of":"both"}';
    const payloads = (await shown("items", body)).map((each) => (each as unknown[])[0]);
    expect(payloads).toEqual([
      { list: [{ n: 1 }], of: "both" },
      { list: [{ n: 2 }], of: "both" },
    ]);
  });

  it("of a form", async () => {
    const body = "a=1&b=%C3%BC";
    expect(await shown("form", body, "application/x-www-form-urlencoded")).toEqual([[{ a: "1", b: "ü" }, body.length]]);
  });
});
