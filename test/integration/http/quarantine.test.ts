/** Events of too low a level wait for a person, and no model is asked before. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { ModelEndpoint } from "../model-endpoint.ts";
import { RunningGateway } from "./running-gateway.ts";
import { GITHUB_SECRET, githubHeaders } from "./sender-calls.ts";

const SOON = { timeout: 20_000, interval: 50 };
const hook = {
  preset: "github",
  secret: GITHUB_SECRET,
  deliver: false,
  wakeMode: "next-heartbeat",
  messageTemplate: "{{payload.issue.title}}",
  minLevel: "trusted",
};
let model: ModelEndpoint | undefined;

afterEach(() => {
  model?.close();
  model = undefined;
});

async function start(mapping: object): Promise<RunningGateway> {
  model = await ModelEndpoint.listen();
  const config = {
    agents: { defaults: { model: "local/m", heartbeat: { every: "0m" } } },
    models: { providers: { local: { baseUrl: model.baseUrl } } },
  };
  return RunningGateway.start({ hooks: { mappings: [{ ...hook, match: { path: "g" }, ...mapping }] }, config });
}

let issues = 0;

/** Opens an issue; returns the delivery's id. */
async function issue(gateway: RunningGateway, association: string): Promise<string> {
  const body = JSON.stringify({
    action: "opened",
    issue: { number: ++issues, title: `issue ${issues}`, user: { id: 7 }, author_association: association },
    sender: { login: "ada", id: 7, type: "User" },
  });
  const answer = await gateway.post("/hooks/g", body, githubHeaders(body, { event: "issues" }));
  expect(answer.status).toBeLessThan(300);
  return String(answer.body["deliveryId"]);
}

describe("an event below minLevel", () => {
  it("is held without asking a model, also through a restart, until it is released", { timeout: 60_000 }, async () => {
    await using gateway = await start({});
    const trusted = await issue(gateway, "MEMBER");
    await vi.waitFor(async () => expect((await gateway.delivery(trusted)).state).toBe("done"), SOON);
    const id = await issue(gateway, "NONE");
    expect(await gateway.delivery(id)).toMatchObject({
      state: "held",
      reason: 'quarantine: the actor "ada" is unknown, which is below trusted',
      level: "unknown",
    });
    expect((await gateway.delivery(id)).runs[0]?.spec).toMatchObject({ message: `issue ${issues}` });
    await gateway.restart();
    expect((await gateway.delivery(id)).state).toBe("held");
    expect(model!.requests).toHaveLength(1);

    const [first, second] = await Promise.all([1, 2].map(() => gateway.api(`/deliveries/${id}/release`, {})));
    const released = [first, second].find((answer) => (answer as { ok: boolean }).ok) as {
      replay: { deliveryId: string };
    };
    const { deliveryId } = released.replay;
    await vi.waitFor(async () => expect((await gateway.delivery(deliveryId)).state).toBe("done"), SOON);
    expect(model!.requests).toHaveLength(2);
    expect(await gateway.delivery(id)).toMatchObject({ state: "canceled", reason: `released as ${deliveryId}` });
    expect(await gateway.delivery(deliveryId)).toMatchObject({
      level: "unknown",
      relatedTo: { how: "replay", deliveryId: id },
    });
    expect(await gateway.api(`/deliveries/${id}/release`, {})).toMatchObject({
      error: expect.stringContaining("only a held one can be released"),
    });
  });

  it("is rejected by canceling it", async () => {
    await using gateway = await start({});
    const id = await issue(gateway, "CONTRIBUTOR");
    await gateway.api(`/deliveries/${id}/cancel`, {});
    expect((await gateway.delivery(id)).state).toBe("canceled");
    expect(model!.requests).toHaveLength(0);
  });

  it("is held again when it is replayed by the mapping of the day, and can be released all the same", async () => {
    await using gateway = await start({});
    const id = await issue(gateway, "NONE");
    const { replay } = await gateway.api<{ replay: { deliveryId: string } }>(`/deliveries/${id}/replay`, {});
    expect((await gateway.delivery(replay.deliveryId)).state).toBe("held");
    expect(model!.requests).toHaveLength(0);
    const released = await gateway.api<{ replay: { deliveryId: string } }>(`/deliveries/${id}/release`, {});
    const { deliveryId } = released.replay;
    await vi.waitFor(async () => expect((await gateway.delivery(deliveryId)).state).toBe("done"), SOON);
    expect(model!.requests).toHaveLength(1);
    expect((await gateway.delivery(id)).reason).toBe(`released as ${deliveryId}`);
    expect((await gateway.delivery(replay.deliveryId)).state).toBe("held");
  });

  it("is filtered where the mapping says so", async () => {
    await using gateway = await start({ below: "filter" });
    expect(await gateway.delivery(await issue(gateway, "NONE"))).toMatchObject({
      state: "filtered",
      reason: 'minLevel: the actor "ada" is unknown, which is below trusted',
    });
  });

  it("joins no other call, and keeps none from running", async () => {
    await using gateway = await start({ overlap: "skip", sessionKey: "hook:g" });
    const held = await issue(gateway, "NONE");
    const trusted = await issue(gateway, "OWNER");
    await vi.waitFor(async () => expect((await gateway.delivery(trusted)).state).toBe("done"), SOON);
    expect((await gateway.delivery(held)).state).toBe("held");
  });
});
