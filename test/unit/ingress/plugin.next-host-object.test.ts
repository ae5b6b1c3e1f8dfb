import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AgentRunResult, GatewayHost } from "../../../src/core/host.ts";
import { WebhookIngress } from "../../../src/ingress/plugin.ts";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import { AGENT_CALL, IngressHost } from "./ingress-host.ts";
import type { HostAnswer } from "./ingress-host.ts";

const SOON = { timeout: 15_000, interval: 5 };
const DONE: AgentRunResult = { status: "ok", reply: "NO_REPLY" };

let fixture: IngressHost;
let ingress: WebhookIngress;
let stores: DeliveryStore[];
beforeEach(async () => {
  fixture = await IngressHost.listen();
  stores = [];
  ingress = new WebhookIngress({
    openStore: async () => {
      const store = await fixture.openStore();
      stores.push(store);
      return store;
    },
  });
  ingress.apply(fixture.host);
});
afterEach(() => fixture[Symbol.asyncDispose]());

function call(message = "x"): Promise<HostAnswer> {
  return fixture.post("/hooks/agent", { ...AGENT_CALL, message });
}

/** Refuses every call whose message is not the word, in one host object. */
function takeOnly(host: GatewayHost, word: string): void {
  WebhookIngress.hooks(host).policy.tap("test", (run) =>
    run.kind === "agent" && run.message.includes(word) ? undefined : { deny: `only ${word}` },
  );
}

/** Applies the ingress to a new host object, which the fixture uses from then on. */
function nextObject(): GatewayHost {
  const next = fixture.nextObject();
  ingress.apply(next);
  fixture.host = next;
  return next;
}

describe("an ingress that is applied to a new host object of its gateway", () => {
  it("asks the hooks of the object that the active configuration came from", async () => {
    takeOnly(fixture.host, "old");
    await fixture.load({}, "start");
    const next = nextObject();
    takeOnly(next, "new");
    expect(WebhookIngress.hooks(next).policy.taps).toHaveLength(1);
    const commit = await fixture.offer({});
    expect([(await call("old")).status, (await call("new")).status]).toEqual([202, 403]);
    commit();
    expect([(await call("old")).status, (await call("new")).status]).toEqual([403, 202]);
  });

  it("continues with the store, and with the runs that were accepted before", async () => {
    await fixture.load({ concurrency: 1 }, "start");
    const held = Promise.withResolvers<AgentRunResult>();
    fixture.scripted.onRun = () => held.promise;
    const answers = [await call(), await call()];
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(1), SOON);
    nextObject();
    await fixture.load({ concurrency: 1 });
    held.resolve(DONE);
    const reader = ingress.deliveries();
    for (const { body } of answers) {
      await vi.waitFor(async () => expect((await reader.get(String(body["deliveryId"])))?.state).toBe("done"), SOON);
    }
    expect(stores).toHaveLength(1);
    expect((await call()).status).toBe(202);
  });

  it("finishes a request in progress with the hooks that it started with", async () => {
    const waiting = Promise.withResolvers<undefined>();
    let asked = 0;
    WebhookIngress.hooks(fixture.host).policy.tapPromise("slow", async () => {
      asked++;
      return waiting.promise;
    });
    takeOnly(fixture.host, "old");
    await fixture.load({}, "start");
    const slow = [call("old"), call("new")];
    await vi.waitFor(() => expect(asked).toBe(2), SOON);
    takeOnly(nextObject(), "new");
    await fixture.load();
    expect((await call("new")).status).toBe(202);
    waiting.resolve(undefined);
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([202, 403]);
  });

  it("notifies the observers of the active configuration of how earlier runs ended", async () => {
    const told: string[] = [];
    const observe = (host: GatewayHost, name: string): void => {
      const { dispatched, settled } = WebhookIngress.hooks(host);
      dispatched.tap("test", () => void told.push(`${name} dispatched`));
      settled.tap("test", ({ state }) => void told.push(`${name} ${state}`));
    };
    observe(fixture.host, "old");
    await fixture.load({}, "start");
    const held = Promise.withResolvers<AgentRunResult>();
    fixture.scripted.onRun = () => held.promise;
    await call();
    await vi.waitFor(() => expect(told).toEqual(["old dispatched"]), SOON);
    observe(nextObject(), "new");
    await fixture.load();
    held.resolve(DONE);
    await vi.waitFor(() => expect(told).toEqual(["old dispatched", "new done"]), SOON);
    await call();
    await vi.waitFor(() => expect(told).toEqual(["old dispatched", "new done", "new dispatched", "new done"]), SOON);
  });

  it("stays on the one before when the configuration is refused on the new one", async () => {
    takeOnly(fixture.host, "old");
    await fixture.load({}, "start");
    const before = fixture.host;
    takeOnly(nextObject(), "new");
    await expect(fixture.offer({ tokn: "x" })).rejects.toThrow("tokn");
    expect([(await call("old")).status, (await call("new")).status]).toEqual([202, 403]);
    await fixture.shutdown(5_000);
    expect((await call("old")).status).toBe(202);
    fixture.host = before;
    await fixture.load({ path: "/moved" });
    expect((await fixture.post("/moved/agent", { ...AGENT_CALL, message: "old" })).status).toBe(202);
  });

  it("ends with the object in use, not with the one that was replaced", async () => {
    await fixture.load({}, "start");
    const replaced = fixture.host;
    nextObject();
    await fixture.load();
    await replaced.lifecycle.onShutdown.promise({ deadlineMs: Date.now() + 5_000 });
    expect((await call()).status).toBe(202);
    await fixture.shutdown(5_000);
    const answer = await call();
    expect([answer.status, answer.body["code"]]).toEqual([503, "SHUTTING_DOWN"]);
    await expect(stores[0]?.list({ limit: 1 })).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("ends with any of them when none has come into use", async () => {
    const first = fixture.host;
    nextObject();
    await fixture.offer({}, "start");
    await first.lifecycle.onShutdown.promise({ deadlineMs: Date.now() + 5_000 });
    await expect(stores[0]?.list({ limit: 1 })).rejects.toMatchObject({ code: "CLOSED" });
  });
});
