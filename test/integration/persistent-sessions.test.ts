import { afterEach, beforeEach, expect, it } from "vitest";
import { GatewayProcess, HOOK_TOKEN } from "./gateway-process.ts";
import { ModelEndpoint } from "./model-endpoint.ts";

let model: ModelEndpoint;
let gateway: GatewayProcess;

beforeEach(async () => {
  model = await ModelEndpoint.listen();
  const mapping = { messageTemplate: "{{text}}", deliver: false, wakeMode: "next-heartbeat" };
  gateway = new GatewayProcess({
    agents: { defaults: { model: "test/small", heartbeat: { every: "0m" } } },
    models: { providers: { test: { baseUrl: model.baseUrl } } },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [
        { ...mapping, match: { path: "diary" }, sessionKey: "hook:diary", sessionMode: "persistent" },
        { ...mapping, match: { path: "fresh" }, sessionKey: "hook:diary" },
        { ...mapping, match: { path: "person" }, sessionKey: "hook:{{from}}", sessionMode: "persistent" },
      ],
    },
  });
  await gateway.start();
});
afterEach(async () => {
  await gateway.close();
  model.close();
});

/** Makes a call and returns the messages that the model was given, the boundary left out. */
async function call(route: string, body: Readonly<Record<string, string | boolean>>, reply: string): Promise<string[]> {
  model.reply = reply;
  expect((await gateway.post(`/hooks/${route}`, body)).status).toBeLessThan(300);
  await gateway.settled();
  const text = String(body["text"] ?? body["message"]);
  const request = model.requests.findLast(({ body: { messages } }) => String(messages.at(-1)?.content).includes(text));
  return request!.body.messages.map(({ role, content: sent }) => {
    const content = String(sent);
    const inside = /<<<EXTERNAL_UNTRUSTED_CONTENT[^>]*>>>\n([^]*?)\n<<<END_EXTERNAL/u.exec(content)?.[1];
    return `${role}: ${inside?.split("\n").at(-1) ?? content}`;
  });
}

it("a persistent run continues the conversation of its session key, also after a restart", async () => {
  expect(await call("diary", { text: "one" }, "first")).toEqual(["user: one"]);
  expect(await call("diary", { text: "two" }, "second")).toEqual(["user: one", "assistant: first", "user: two"]);
  expect(await call("fresh", { text: "alone" }, "third")).toEqual(["user: alone"]);
  expect(await call("person", { from: "ann", text: "hi" }, "hello")).toEqual(["user: hi"]);
  await gateway.end("SIGKILL");
  await gateway.start();
  expect(await call("diary", { text: "four" }, "fourth")).toEqual([
    "user: one",
    "assistant: first",
    "user: two",
    "assistant: second",
    "user: alone",
    "assistant: third",
    "user: four",
  ]);
  expect(await call("person", { from: "ann", text: "back" }, "")).toEqual([
    "user: hi",
    "assistant: hello",
    "user: back",
  ]);
  expect(await call("person", { from: "ben", text: "hi" }, "")).toEqual(["user: hi"]);
});

it("a persistent run sees the latest turns that fit, and none that failed", async () => {
  const long = "x".repeat(20_000);
  for (const text of ["one", "two"]) await call("diary", { text }, long);
  model.refusal = { status: 400, message: "no" };
  await call("diary", { text: "refused" }, "");
  model.refusal = undefined;
  for (const text of ["three", "four"]) await call("diary", { text }, long);
  const seen = await call("diary", { text: "five" }, "");
  expect(seen.filter((line) => line.startsWith("user: "))).toEqual([
    "user: two",
    "user: three",
    "user: four",
    "user: five",
  ]);
});

it("a caller who may name a session may continue it, and names one", async () => {
  const direct = { deliver: false, wakeMode: "next-heartbeat", sessionMode: "persistent" };
  expect(await call("agent", { ...direct, message: "one", sessionKey: "hook:chat" }, "first")).toEqual(["user: one"]);
  expect(await call("agent", { ...direct, message: "two", sessionKey: "hook:chat" }, "")).toHaveLength(3);
  const nameless = await gateway.post("/hooks/agent", { ...direct, message: "three" });
  expect(nameless.status).toBe(400);
  expect(String(nameless.body["error"])).toContain("sessionMode persistent needs a sessionKey");
  const wrong = await gateway.post("/hooks/agent", { message: "four", sessionMode: "shared" });
  expect(String(wrong.body["error"])).toContain("sessionMode must be one of isolated, persistent");
});
