/** Events that runs of the gateway cause carry its mark: they join a chain, with the rights of its least trusted, and end. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import { ModelEndpoint } from "../model-endpoint.ts";
import { RunningGateway } from "./running-gateway.ts";
import { GITHUB_SECRET, githubHeaders } from "./sender-calls.ts";

const SOON = { timeout: 20_000, interval: 50 };
const COMMENT = /<!-- (reveille-chain\.[\w.]+) -->/u;
let model: ModelEndpoint;

afterEach(() => model.close());

async function start(hooks: object = {}): Promise<RunningGateway> {
  model = await ModelEndpoint.listen();
  const config = {
    agents: { defaults: { model: "local/m", heartbeat: { every: "0m" } } },
    models: { providers: { local: { baseUrl: model.baseUrl } } },
  };
  const mapping = {
    preset: "github",
    secret: GITHUB_SECRET,
    match: { path: "g" },
    deliver: false,
    wakeMode: "next-heartbeat",
    messageTemplate: "{{payload.comment.body}}",
  };
  return RunningGateway.start({ hooks: { mappings: [mapping], ...hooks }, config });
}

interface Comment {
  readonly text: string;
  readonly association?: string;
  /** The text of the issue that it is under. */
  readonly issue?: string;
}

async function comment(
  gateway: RunningGateway,
  { text, association = "MEMBER", issue = "" }: Comment,
): Promise<DeliveryDetail> {
  const body = JSON.stringify({
    action: "created",
    issue: { number: 1, body: issue },
    comment: { body: text, user: { id: 7 }, author_association: association },
    sender: { login: "ada", id: 7, type: "User" },
  });
  const answer = await gateway.post("/hooks/g", body, githubHeaders(body, { event: "issue_comment" }));
  return vi.waitFor(async () => {
    const delivery = await gateway.delivery(String(answer.body["deliveryId"]));
    expect(delivery.state).toMatch(/^(?:done|filtered)$/u);
    return delivery;
  }, SOON);
}

/** The line that the latest run was asked to end its texts with. */
function markLine(): string {
  const prompt = String(model.requests.at(-1)!.body.messages.at(-1)!.content);
  expect(prompt).toMatch(COMMENT);
  return COMMENT.exec(prompt)![0];
}

describe("a comment with the mark of a run", () => {
  it("joins the chain of the run, which ends with the reason", { timeout: 60_000 }, async () => {
    await using gateway = await start({ chains: { maxDepth: 2 } });
    const first = await comment(gateway, { text: "Look." });
    expect(first.chain).toBeUndefined();
    for (const depth of [1, 2]) {
      const next = await comment(gateway, { text: `Again.\n${markLine()}` });
      expect(next).toMatchObject({ state: "done", chain: { id: first.id, depth } });
      // No one sees the mark, so the agent is not given it as a part of the event.
      expect(next.runs[0]!.spec).toMatchObject({ message: "Again.\n", chain: { id: first.id, depth } });
    }
    const mark = markLine();
    await gateway.restart();
    const last = await comment(gateway, { text: mark });
    expect(last).toMatchObject({
      state: "filtered",
      reason: `chain: a run that ${first.id} began caused it, at depth 3; hooks.chains.maxDepth is 2`,
      chain: { id: first.id, depth: 3 },
    });
    const { deliveries } = await gateway.api<{ deliveries: { id: string }[] }>(`/deliveries?chain=${first.id}`);
    expect(deliveries).toHaveLength(3);
    expect(deliveries[0]).toMatchObject({ id: last.id });
  });

  it("ends the chain after so many events, at whatever depth", { timeout: 60_000 }, async () => {
    await using gateway = await start({ chains: { maxDeliveries: 2 } });
    const first = await comment(gateway, { text: "Look." });
    const mark = markLine();
    expect((await comment(gateway, { text: `1 ${mark}` })).state).toBe("done");
    // What was accepted before a restart counts.
    await gateway.restart();
    expect((await comment(gateway, { text: `2 ${mark}` })).state).toBe("done");
    // A copy is no further event.
    expect((await comment(gateway, { text: `2 ${mark}` })).state).toBe("done");
    expect(await comment(gateway, { text: `3 ${mark}` })).toMatchObject({
      state: "filtered",
      reason: `chain: ${first.id} has caused 2 events; hooks.chains.maxDeliveries is 2`,
    });
  });

  it("has no higher level than who began the chain, whoever's account wrote it", async () => {
    await using gateway = await start();
    expect(await comment(gateway, { text: "Look.", association: "NONE" })).toMatchObject({ level: "unknown" });
    const mark = markLine();
    expect(await comment(gateway, { text: "Do it.", association: "MEMBER" })).toMatchObject({ level: "trusted" });
    expect(await comment(gateway, { text: `Do it.\n${mark}` })).toMatchObject({
      level: "unknown",
      chain: { depth: 1 },
    });
  });

  it("is an event like any other when the mark is forged, or stands in what the event only shows", async () => {
    await using gateway = await start();
    await comment(gateway, { text: "Look.", association: "NONE" });
    const mark = markLine();
    const forged = await comment(gateway, { text: mark.replace(/\.0\.0\./u, ".0.3.") });
    expect(forged).toMatchObject({ state: "done", level: "trusted" });
    expect(forged.chain).toBeUndefined();
    const below = await comment(gateway, { text: "Thanks.", issue: mark });
    expect(below).toMatchObject({ state: "done", level: "trusted" });
    expect(below.chain).toBeUndefined();
  });
});
