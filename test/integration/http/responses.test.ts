import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AUTHORIZED, RunningGateway } from "./running-gateway.ts";

const template = { messageTemplate: "{{text}}", deliver: false, wakeMode: "next-heartbeat" };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    hooks: {
      mappings: [
        {
          ...template,
          match: { path: "xml" },
          respond: {
            status: 200,
            headers: { "Content-Type": "text/xml", "X-Receipt": "kept" },
            body: "<taken id='{{deliveryId}}' run='{{runId}}'>{{text}}</taken>",
          },
        },
        { ...template, match: { path: "plain" }, respond: { status: 201, body: "ok" } },
        { ...template, match: { path: "status" }, respond: { status: 200 } },
        { ...template, match: { path: "empty" }, respond: { status: 204 } },
        { ...template, match: { path: "filtered" }, when: "payload.wanted", respond: { status: 200, body: "ok" } },
      ],
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

async function answerOf(path: string, payload: object) {
  const { status, headers, text } = await gateway.send({
    target: `/hooks/${path}`,
    headers: [AUTHORIZED],
    body: JSON.stringify(payload),
  });
  return { status, type: headers["content-type"], length: headers["content-length"], headers, text };
}

describe("the answer of a mapping's respond", () => {
  it("has its status, its headers and its body, rendered over the call and the delivery", async () => {
    const { status, type, headers, text } = await answerOf("xml", { text: "hello" });
    expect([status, type, headers["x-receipt"]]).toEqual([200, "text/xml", "kept"]);
    const [, deliveryId, runId] = /^<taken id='([^']+)' run='([^']+)'>hello<\/taken>$/.exec(text) ?? [];
    expect((await gateway.delivery(deliveryId)).runIds).toEqual([runId]);
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });

  it("is plain text unless the headers say otherwise", async () => {
    const { status, type, length, text } = await answerOf("plain", { text: "x" });
    expect([status, type, length, text]).toEqual([201, "text/plain; charset=utf-8", "2", "ok"]);
  });

  it("renders in one pass: what a caller sends stays text", async () => {
    const { text } = await answerOf("xml", { text: "{{deliveryId}}" });
    expect(text).toContain(">{{deliveryId}}</taken>");
  });

  it("keeps the ordinary content where only the status is set, and none with 204", async () => {
    const { status, type, text } = await answerOf("status", { text: "x" });
    expect([status, type]).toEqual([200, "application/json; charset=utf-8"]);
    expect(JSON.parse(text)).toMatchObject({ ok: true });
    expect(await answerOf("empty", { text: "x" })).toMatchObject({ status: 204, type: undefined, text: "" });
  });

  it("is given to filtered calls too, and not to refused ones", async () => {
    expect(await answerOf("filtered", { wanted: false, text: "x" })).toMatchObject({ status: 200, text: "ok" });
    const [newest] = await gateway.deliveries();
    expect(newest).toMatchObject({ state: "filtered", route: "filtered" });
    expect(await answerOf("plain", { text: " " })).toMatchObject({ status: 400 });
  });
});
