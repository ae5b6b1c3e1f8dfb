/** A provider, a channel or the channel of notices that misses something is set aside, and the rest serves. */
import { describe, expect, it, vi } from "vitest";
import { RunningGateway } from "../http/running-gateway.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const SOON = { timeout: 40_000, interval: 50 };
const QUIET = { messageTemplate: "m", wakeMode: "next-heartbeat" };
const MISSING = { env: "SECRET_THAT_IS_NOT_SET" };
const WHSEC = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const good = { id: "good", match: { path: "good" }, deliver: false, ...QUIET };

const logged = ({ logger }: RunningGateway): string => JSON.stringify(logger.lines);

function fileWith(gateway: RunningGateway, sections: object, hooks: object): string {
  return JSON.stringify({ ...gateway.configWith(hooks), ...sections });
}

describe("a provider whose key is missing", () => {
  it("lets the runs of its agents wait until it can be read, and loses none", { timeout: 60_000 }, async () => {
    const model = await ModelEndpoint.listen();
    const sections = (apiKey: unknown): object => ({
      agents: { defaults: { model: "local/m", heartbeat: { every: "0m" } } },
      models: { providers: { local: { baseUrl: model.baseUrl, apiKey } } },
    });
    await using gateway = await RunningGateway.start({ hooks: { mappings: [good] }, config: sections(MISSING) });
    expect(logged(gateway)).toContain("its agents' runs wait until it can be read");
    const { status, body } = await gateway.post("/hooks/good", {});
    expect(status).toBe(202);
    await vi.waitFor(async () => {
      const { state, runs } = await gateway.delivery(body["deliveryId"]);
      expect([state, runs[0]?.reason]).toEqual(["queued", expect.stringContaining("its provider is set aside")]);
    }, SOON);
    gateway.writeFile(fileWith(gateway, sections("the-key"), { mappings: [good] }));
    await vi.waitFor(async () => expect((await gateway.delivery(body["deliveryId"])).state).toBe("done"), SOON);
    expect(model.requests[0]).toMatchObject({ authorization: "Bearer the-key" });
    model.close();
  });

  it("sets a mapping aside that names one of its models", async () => {
    const models = { providers: { local: { baseUrl: "http://127.0.0.1:9/v1", apiKey: MISSING } } };
    const named = { ...good, id: "named", match: { path: "named" }, model: "local/m" };
    await using gateway = await RunningGateway.start({ hooks: { mappings: [named, good] }, config: { models } });
    expect((await gateway.post("/hooks/named", {})).status).toBe(503);
    expect((await gateway.post("/hooks/good", {})).status).toBe(202);
  });

  it("keeps its key when a reload cannot read the new one", async () => {
    const models = (apiKey: unknown): object => ({
      models: { providers: { local: { baseUrl: "http://127.0.0.1:9/v1", apiKey } } },
    });
    const named = { ...good, model: "local/m" };
    await using gateway = await RunningGateway.start({ hooks: { mappings: [named] }, config: models("the-key") });
    gateway.writeFile(fileWith(gateway, models(MISSING), { mappings: [named], maxDepth: 20 }));
    expect((await gateway.reload()).applied).toBe(true);
    expect((await gateway.post("/hooks/good", {})).status).toBe(202);
    expect(logged(gateway)).toContain("the version before stays active for this part");
  });
});

describe("an agent whose tools miss a secret", () => {
  it("lets its runs wait until it can be read, and every other agent works", { timeout: 60_000 }, async () => {
    const sections = (authorization: unknown): object => ({
      agents: {
        defaults: { heartbeat: { every: "0m" } },
        list: [
          { id: "main" },
          {
            id: "reader",
            permissions: "reads",
            tools: { mcp: { far: { url: "http://127.0.0.1:9/mcp", headers: { authorization } } }, allow: ["far.*"] },
          },
        ],
      },
    });
    const mappings = [
      good,
      { ...good, id: "reader", match: { path: "reader" }, agentId: "reader", acceptAllThree: "A test." },
    ];
    await using gateway = await RunningGateway.start({ hooks: { mappings }, config: sections(MISSING) });
    expect(logged(gateway)).toContain("agents.list[1].tools.mcp.far.headers.authorization");
    const { body } = await gateway.post("/hooks/reader", {});
    await vi.waitFor(async () => {
      const { state, runs } = await gateway.delivery(body["deliveryId"]);
      expect([state, runs[0]?.reason]).toEqual(["queued", expect.stringContaining("The agent reader is set aside")]);
    }, SOON);
    const other = await gateway.post("/hooks/good", {});
    await vi.waitFor(async () => expect((await gateway.delivery(other.body["deliveryId"])).state).toBe("done"), SOON);
    gateway.writeFile(fileWith(gateway, sections("Bearer x"), { mappings }));
    await vi.waitFor(async () => {
      const { runs } = await gateway.delivery(body["deliveryId"]);
      expect(runs[0]?.attempts.at(-1)?.error).toContain("far");
    }, SOON);
  });
});

describe("the channel webhook whose secret is missing", () => {
  const channels = (secret: unknown): object => ({ channels: { webhook: { url: "http://127.0.0.1:9/", secret } } });
  const sent = { id: "sent", match: { path: "sent" }, channel: "webhook", to: "x", ...QUIET };

  it("sets aside the mappings that name it, and the rest serves", async () => {
    await using gateway = await RunningGateway.start({ hooks: { mappings: [sent, good] }, config: channels(MISSING) });
    expect((await gateway.post("/hooks/sent", {})).status).toBe(503);
    expect((await gateway.post("/hooks/good", {})).status).toBe(202);
    expect(logged(gateway)).toContain("the channel is set aside");
  });

  it("keeps its secret when a reload cannot read the new one", async () => {
    await using gateway = await RunningGateway.start({ hooks: { mappings: [sent] }, config: channels(WHSEC) });
    gateway.writeFile(fileWith(gateway, channels(MISSING), { mappings: [sent], maxDepth: 20 }));
    expect((await gateway.reload()).applied).toBe(true);
    expect((await gateway.post("/hooks/sent", {})).status).toBe(202);
  });
});

it("notices whose channel is missing go to the main session alone", async () => {
  await using gateway = await RunningGateway.start({ hooks: { mappings: [good], notices: { channel: "nowhere" } } });
  expect((await gateway.post("/hooks/good", {})).status).toBe(202);
  expect(logged(gateway)).toContain("notices go to the main session alone");
});
