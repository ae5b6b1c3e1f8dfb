import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryDetail, DeliverySummary } from "../../src/core/delivery.ts";
import type { WaitView } from "../../src/index.ts";
import { GatewayProcess, HOOK_TOKEN } from "./gateway-process.ts";
import { ModelEndpoint } from "./model-endpoint.ts";

const SESSION = "agent:main:hook:work";
const HOUR = { withinSeconds: 3_600, sessionKey: "hook:work" };
const POLL = { timeout: 15_000 };
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
      mappings: [
        { ...mapping, id: "work", match: { path: "work" }, sessionKey: "hook:work" },
        { ...mapping, id: "ci", match: { path: "ci" } },
        { ...mapping, id: "deploys", match: { path: "deploys" }, when: "payload.ok == true" },
        { ...mapping, id: "alerts", match: { path: "alerts" } },
        { ...mapping, id: "once", match: { path: "once" }, overlap: "skip" },
      ],
    },
  });
  await gateway.start();
});
afterEach(async () => {
  await gateway.close();
  model.close();
});

async function add(wish: object): Promise<WaitView> {
  const made = await gateway.api<WaitView & { error?: string }>("/waits", "POST", wish);
  expect(made.error).toBeUndefined();
  return made;
}

async function waits(): Promise<readonly WaitView[]> {
  return (await gateway.api<{ waits: WaitView[] }>("/waits")).waits;
}

/** Every run of the session, with the delivery that it is of. */
async function resumed(): Promise<{ delivery: DeliveryDetail; text: string }[]> {
  const found = [];
  for (const { id } of await gateway.deliveries()) {
    const delivery = await gateway.delivery(id);
    if (delivery.route === "work") continue;
    for (const { spec } of delivery.runs) {
      if (spec.sessionKey === SESSION) found.push({ delivery, text: spec.kind === "wake" ? spec.text : spec.message });
    }
  }
  return found;
}

async function killed(): Promise<void> {
  await gateway.end("SIGKILL");
  await gateway.start();
}

function latest(): Promise<DeliverySummary[]> {
  return gateway.deliveries();
}

describe("a session that waits", () => {
  it("is resumed once by the event that comes after the gateway was killed, in its own conversation", async () => {
    model.reply = "I wait for the build.";
    await gateway.post("/hooks/work", { text: "Fix the bug." });
    await gateway.settled();
    await add({ ...HOUR, hook: "ci", correlation: { path: "build.id", equals: "7" }, note: "the build of the fix" });
    await killed();

    await gateway.post("/hooks/ci", { build: { id: 8 }, text: "another build" });
    expect(await resumed()).toEqual([]);
    const calls = Array.from({ length: 5 }, () =>
      gateway.post("/hooks/ci", { build: { id: 7 }, text: "build is red" }),
    );
    for (const { status } of await Promise.all(calls)) expect(status).toBe(202);
    await gateway.settled();
    const [only, ...more] = await resumed();
    expect(more).toEqual([]);
    expect(only!.text).toMatch(/^Waited for \(wait_[0-9a-f]{24}: the build of the fix\)\n\n\S+ ci\nbuild is red$/u);
    // The mapping's own run is in addition.
    expect(only!.delivery.runs).toHaveLength(2);
    expect(await waits()).toEqual([]);
    const request = model.requests.findLast(({ body: { messages } }) =>
      String(messages.at(-1)?.content).includes("the build of the fix"),
    );
    const { messages } = request!.body;
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(messages[1]!.content).toBe("I wait for the build.");
    const content = String(messages.at(-1)!.content);
    const inside = content.slice(content.indexOf("<<<EXTERNAL"), content.indexOf("<<<END_EXTERNAL"));
    expect(inside).toContain("build is red");
    expect(inside).toContain("the build of the fix");

    await killed();
    await gateway.post("/hooks/ci", { build: { id: 7 }, text: "build is red" });
    await gateway.settled();
    expect(await resumed()).toHaveLength(1);
  });

  it("is resumed once at its deadline, also when that was while no gateway ran", async () => {
    await add({ ...HOUR, withinSeconds: 1, hook: "ci", note: "the build" });
    await gateway.end("SIGKILL");
    await sleep(1_500);
    await gateway.start();
    await expect.poll(async () => (await resumed()).length, POLL).toBe(1);
    const [{ delivery, text }] = (await resumed()) as [{ delivery: DeliveryDetail; text: string }];
    expect(delivery).toMatchObject({ route: "wait", name: "Wait", mappingId: null });
    expect(text).toMatch(/^Not fulfilled until its deadline, \S+Z\.\n\nWaited for \(wait_[0-9a-f]+: the build\)$/u);
    await killed();
    await gateway.post("/hooks/ci", { text: "too late" });
    await sleep(1_500);
    expect(await resumed()).toHaveLength(1);
    expect(await waits()).toEqual([]);
  });

  it("is resumed once when it was merged, deployed, and nothing was alerted for a time", async () => {
    const condition = {
      all: [
        { hook: "ci", when: "payload.merged == true" },
        { hook: "deploys", correlation: { path: "service", equals: "shop" } },
      ],
      none: [{ hook: "alerts" }],
      quietSeconds: 2,
    };
    const { id } = await add({ ...HOUR, ...condition });
    await gateway.post("/hooks/alerts", { text: "too early to count" });
    await gateway.post("/hooks/ci", { merged: true, text: "it is merged" });
    await killed();
    expect(await waits()).toMatchObject([{ id, seen: [{ hook: "ci" }] }]);
    // The mapping's own filter does not take it, and the wait does.
    await gateway.post("/hooks/deploys", { service: "shop", ok: false, text: "it is deployed" });
    await gateway.post("/hooks/alerts", { text: "the shop burns" });
    await killed();
    await expect.poll(async () => (await resumed()).length, POLL).toBe(1);
    const [{ text, delivery }] = (await resumed()) as [{ text: string; delivery: DeliveryDetail }];
    expect(delivery.route).toBe("wait");
    expect(text).toMatch(/^Fulfilled: nothing[^]*it is merged[^]*it is deployed/u);
    const [alert, deploy] = (await latest()).filter(({ route }) => route === "alerts" || route === "deploys");
    const at = (one: DeliverySummary | DeliveryDetail): number => Date.parse(one.receivedAt);
    const isDisturbed = at(alert!) < at(deploy!) + 2_000;
    expect(at(delivery)).toBeGreaterThanOrEqual(at(isDisturbed ? alert! : deploy!) + 2_000);
    expect(text).not.toContain("burns");
    expect(await waits()).toEqual([]);
  });

  it("takes an event instead of the mapping's own run, also of a mapping that skips overlapping calls", async () => {
    await add({ ...HOUR, hook: "once", instead: true, times: 2 });
    await gateway.post("/hooks/once", { text: "first" });
    await gateway.post("/hooks/once", { text: "second" });
    const [second, first] = await latest();
    for (const { id } of [first!, second!]) {
      expect((await gateway.delivery(id)).runs.map(({ spec }) => spec.sessionKey)).toEqual([SESSION]);
    }
    expect(await waits()).toEqual([]);
    const wait = await add({ ...HOUR, all: [{ hook: "once" }, { hook: "alerts" }], instead: true });
    await gateway.post("/hooks/once", { text: "third" });
    expect((await latest())[0]).toMatchObject({ state: "skipped", reason: `it counts for ${wait.id}` });
  });

  it("wakes the main session, and is listed, shown and canceled", async () => {
    const { id } = await add({ hook: "ci", withinSeconds: 60 });
    const other = await add({ ...HOUR, hook: "ci" });
    expect((await waits()).map((each) => each.id)).toEqual([id, other.id]);
    expect(await gateway.api(`/waits/${other.id}`, "DELETE")).toEqual({ ok: true, id: other.id });
    expect(await gateway.api(`/waits/${other.id}`)).toMatchObject({ code: "NOT_FOUND" });
    await gateway.post("/hooks/ci", { text: "built" });
    const { runs } = await gateway.delivery((await latest())[0]!.id);
    expect(runs.map(({ spec }) => [spec.kind, spec.sessionKey])).toEqual([
      ["agent", expect.stringContaining("agent:main:hook:")],
      ["wake", "agent:main:main"],
    ]);
  });

  it.for([
    [{ hook: "nowhere" }, 'there is no mapping "nowhere"'],
    [{ hook: "ci", sender: "github" }, "either a hook or a sender"],
    [{ hook: "ci", when: "payload." }, "when "],
    [{}, "waits for nothing"],
    [{ hook: "ci", none: [{ hook: "alerts" }] }, "none and quietSeconds"],
    [{ hook: "ci", agentId: "nobody" }, "nobody"],
    [{ hook: "ci", withinSeconds: 20_000_000 }, "maxDays"],
  ] as const)("is told what is wrong with %o", async ([wish, problem]) => {
    const refused = await gateway.api<{ code: string; error: string }>("/waits", "POST", { ...HOUR, ...wish });
    expect(refused).toMatchObject({ code: "INVALID_QUERY", error: expect.stringContaining(problem) as string });
    expect(await waits()).toEqual([]);
  });
});
