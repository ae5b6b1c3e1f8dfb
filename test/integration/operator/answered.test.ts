import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeliverySummary } from "../../../src/core/delivery.ts";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { baseConfig, gatewayToken, GatewayFixture, hookToken } from "../../unit/hosts/embedded/gateway/fixture.ts";

const SECRET = "secret-of-the-github-hook-here";
const fixture = new GatewayFixture({
  ...baseConfig,
  hooks: {
    ...baseConfig.hooks,
    presets: ["github"],
    github: { secret: SECRET },
    mappings: [
      { id: "agent", match: { path: "run" }, messageTemplate: "{{text}}", deliver: false },
      { id: "made", match: { path: "made" }, messageTemplate: "{{text}}", respond: { status: 201 }, deliver: false },
      { id: "two", match: { path: "two" }, forEach: "items", messageTemplate: "{{items[0]}}", deliver: false },
      { id: "none", match: { path: "none" }, forEach: "items", messageTemplate: "{{items[0]}}", deliver: false },
      { id: "clause", match: { path: "clause" }, when: "payload.text == 'other'", messageTemplate: "x" },
      { id: "result", match: { path: "result" }, messageTemplate: "{{text}}", respond: "result", deliver: false },
    ],
  },
});
let gateway: EmbeddedGateway;

beforeAll(async () => {
  gateway = await fixture.start();
});
afterAll(() => fixture.remove());

async function call(path: string, body: object, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(`${gateway.url}/hooks/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${hookToken}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}

async function newest(): Promise<DeliverySummary> {
  const response = await fetch(`${gateway.url}/api/v1/deliveries?limit=1`, {
    headers: { authorization: `Bearer ${gatewayToken}` },
  });
  const { deliveries } = (await response.json()) as { deliveries: DeliverySummary[] };
  return deliveries[0]!;
}

describe("the status that a caller got is kept with its delivery", () => {
  it.each([
    ["a wake", "wake", { text: "Hello." }, 200],
    ["an agent call", "agent", { message: "Hello." }, 202],
    ["a mapping", "run", { text: "Hello." }, 202],
    ["a mapping with an answer of its own", "made", { text: "Hello." }, 201],
    ["a call with several runs", "two", { items: ["a", "b"] }, 202],
    ["a call without an item", "none", { items: [] }, 204],
    ["a filtered call", "clause", { text: "Hello." }, 200],
  ])("of %s", async (_, path, body, status) => {
    const answered = await call(path, body);
    const delivery = await newest();
    expect(delivery.route).toBe(path);
    expect([answered, delivery.answered]).toEqual([status, status]);
  });

  it("of a sender that signs", async () => {
    const event = { action: "opened", repository: { full_name: "a/b" }, sender: { login: "octocat" } };
    const digest = createHmac("sha256", SECRET).update(JSON.stringify(event)).digest("hex");
    const headers = { "x-hub-signature-256": `sha256=${digest}`, "x-github-event": "issues", authorization: "" };
    expect(await call("github", event, headers)).toBe(200);
    expect(await newest()).toMatchObject({ route: "github", answered: 200 });
  });

  it("of a repeat", async () => {
    const key = { "idempotency-key": "the-same" };
    expect(await call("run", { text: "Once." }, key)).toBe(202);
    expect(await call("run", { text: "Once." }, key)).toBe(202);
    expect(await newest()).toMatchObject({ state: "duplicate", answered: 202 });
  });

  it("but not of a caller that waited for the result", async () => {
    expect(await call("result", { text: "Hello." })).toBe(200);
    expect((await newest()).answered).toBeUndefined();
  });
});
