import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { RunningGateway } from "../http/running-gateway.ts";
import { ModelEndpoint } from "../model-endpoint.ts";
import { outbox, pendingTexts } from "./session-reads.ts";
import { readSummary } from "../../fixtures/read-summary.ts";

const QUIET = { wakeMode: "next-heartbeat", deliver: false };
const EVERY_SECONDS = 1;

let gateway: RunningGateway;
let model: ModelEndpoint;

beforeAll(async () => {
  model = await ModelEndpoint.listen();
  gateway = await RunningGateway.start({ config: configured("0m") });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  model.close();
});
beforeEach(() => {
  model.requests.length = 0;
});

function configured(every: string | number): object {
  return {
    agents: { defaults: { model: "test/small", heartbeat: { every } } },
    models: { providers: { test: { baseUrl: model.baseUrl } } },
  };
}

it("spec 6: POST /hooks/wake enqueues a system event for the main session, with the text from text", async () => {
  const answer = await gateway.post("/hooks/wake", { text: "The door is open.", mode: "next-heartbeat" });
  await gateway.ended(answer.body["deliveryId"]);
  expect(await pendingTexts(gateway)).toContainEqual(expect.stringContaining("\nThe door is open.\n"));
});

it("spec 6: POST /hooks/agent posts a summary into the main session after the run, prefixed with name when it is given", async () => {
  model.reply = "Nothing new.";
  for (const name of ["News", undefined]) {
    const answer = await gateway.post("/hooks/agent", { ...QUIET, message: "x", name });
    await gateway.ended(answer.body["deliveryId"]);
  }
  const texts = (await pendingTexts(gateway)).map(readSummary);
  expect(texts).toContain('Hook "News": [Nothing new.]');
  expect(texts).toContain("Hook Hook: [Nothing new.]");
});

it("spec 6: a heartbeat is triggered immediately when mode=now or wakeMode=now", async () => {
  await gateway.post("/hooks/wake", { text: "Wake up.", mode: "now" });
  await expect.poll(() => model.prompts.some((prompt) => prompt.includes("Wake up."))).toBe(true);
  await gateway.post("/hooks/agent", { ...QUIET, message: "x", name: "Soon", wakeMode: "now" });
  await expect.poll(() => model.prompts.some((prompt) => prompt.includes('Hook \\"Soon\\": '))).toBe(true);
});

it("spec 6: with next-heartbeat it occurs at the next periodic check", async () => {
  await using periodic = await RunningGateway.start({ config: configured(EVERY_SECONDS) });
  const answer = await periodic.post("/hooks/wake", { text: "When you can.", mode: "next-heartbeat" });
  await periodic.ended(answer.body["deliveryId"]);
  await expect
    .poll(() => model.prompts.find((prompt) => prompt.includes("When you can.")), { timeout: 20_000 })
    .toContain("Heartbeat (periodic)");
});

it("spec 6: the reply goes out to a messaging channel when deliver=true, and only then", async () => {
  model.reply = "Out it goes.";
  for (const deliver of [true, false]) {
    const answer = await gateway.post("/hooks/agent", { ...QUIET, message: "x", deliver });
    await gateway.ended(answer.body["deliveryId"]);
  }
  expect((await outbox(gateway)).filter(({ text }) => text === "Out it goes.")).toHaveLength(1);
});

it("spec 6: nothing calls the caller back: all that goes out is the request to the model", async () => {
  const calls: string[] = [];
  const record = (message: unknown): void => {
    const { protocol, host, path } = (message as { readonly request: ClientRequest }).request;
    calls.push(`${protocol}//${host}${path}`);
  };
  const fetched = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    calls.push(input instanceof Request ? input.url : String(input));
    return fetched(input, init);
  };
  subscribe("http.client.request.start", record);
  try {
    const payload = { message: "x", callback: `${gateway.url}/callback`, deliver: true, wakeMode: "next-heartbeat" };
    const answer = await gateway.post("/hooks/agent", payload);
    await gateway.ended(answer.body["deliveryId"]);
  } finally {
    unsubscribe("http.client.request.start", record);
    globalThis.fetch = fetched;
  }
  const outgoing = calls.filter((url) => !url.startsWith(gateway.url));
  const { hostname, pathname } = new URL(model.baseUrl);
  expect(outgoing).toEqual([`http://${hostname}${pathname}/chat/completions`]);
});
