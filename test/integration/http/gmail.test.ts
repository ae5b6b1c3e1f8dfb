import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { ModelEndpoint } from "../model-endpoint.ts";
import { RunningGateway } from "./running-gateway.ts";

const MAILS = [
  { id: "m1", from: "ann@example.test", subject: "Invoice", snippet: "Please pay", body: "500 EUR" },
  { id: "m2", from: "bob@example.test", subject: "Lunch", snippet: "At noon?", body: "<b>Pizza</b>" },
];

let model: ModelEndpoint;
let gateway: RunningGateway;
beforeAll(async () => {
  model = await ModelEndpoint.listen();
  gateway = await RunningGateway.start({
    hooks: { presets: ["gmail"] },
    config: {
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
    },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  model.close();
});

describe("spec 2.1: the built-in preset for mail, enabled and nothing else", () => {
  it("runs each of two mails by itself, in a session under hook:gmail:, and delivers both replies", async () => {
    const answer = await gateway.post("/hooks/gmail", { messages: MAILS });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ ok: true, dispatched: 2 });
    const delivery = await gateway.ended(answer.body["deliveryId"]);
    expect(delivery).toMatchObject({ state: "done", mappingId: "gmail", name: "Gmail", route: "gmail" });
    const specs = delivery.runs.map(({ spec }) => spec as AgentSpec);
    expect(specs.map(({ sessionKey }) => sessionKey)).toEqual(["agent:main:hook:gmail:m1", "agent:main:hook:gmail:m2"]);
    expect(specs.map(({ message }) => message)).toEqual(
      MAILS.map(
        ({ from, subject, snippet, body }) => `New email from ${from}\nSubject: ${subject}\n${snippet}\n${body}`,
      ),
    );
    expect(delivery.runs.map(({ delivery }) => delivery)).toEqual(["sent", "sent"]);
    const prompts = model.prompts.filter((prompt) => prompt.includes("New email from"));
    expect(prompts).toHaveLength(2);
    for (const prompt of prompts) expect(prompt).toMatch(/untrusted.*Source: Email/is);
  });

  it("cannot be led out of its sessions by what a mail holds", async () => {
    for (const id of ["../../main", "agent:main:main", " ", "{{now}}", 7, null, { a: 1 }, "x".repeat(5_000)]) {
      const answer = await gateway.post("/hooks/gmail", { messages: [{ ...MAILS[0], id }] });
      expect(answer.status).toBe(200);
      const { spec } = (await gateway.delivery(answer.body["deliveryId"])).runs[0]!;
      expect(spec.sessionKey).toMatch(/^agent:main:hook:gmail:[\w.-]{1,128}$/);
    }
  });

  it("takes 100 mails of the size that the watcher sends, and skips what is no list of mails", async () => {
    const mails = Array.from({ length: 100 }, (_, at) => ({ ...MAILS[0], id: `b${at}`, body: "x".repeat(20_000) }));
    const answer = await gateway.post("/hooks/gmail", { messages: mails });
    expect([answer.status, answer.body["dispatched"]]).toEqual([200, 100]);
    for (const messages of [undefined, "x", {}, null]) {
      expect((await gateway.post("/hooks/gmail", { messages })).status).toBe(200);
      const [newest] = await gateway.deliveries();
      expect(newest).toMatchObject({ state: "skipped", reason: "payload.messages must be an array." });
    }
  });

  it("comes after the operator's own mapping of that path", async () => {
    const mappings = [{ match: { path: "gmail" }, id: "mine", messageTemplate: "x", deliver: false }];
    await using own = await RunningGateway.start({ hooks: { presets: ["gmail"], mappings } });
    const answer = await own.post("/hooks/gmail", { messages: MAILS });
    expect((await own.delivery(answer.body["deliveryId"])).mappingId).toBe("mine");
  });
});
