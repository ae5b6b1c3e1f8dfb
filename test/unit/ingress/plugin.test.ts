import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AgentRunResult } from "../../../src/core/host.ts";
import { WebhookIngress } from "../../../src/ingress/plugin.ts";
import { StoreError } from "../../../src/storage/delivery-store.ts";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import { AGENT_CALL, IngressHost, TOKEN } from "./ingress-host.ts";
import type { HostAnswer } from "./ingress-host.ts";

/** For what happens by itself; how long it takes is no matter. */
const SOON = { timeout: 15_000, interval: 5 };
const OTHER_TOKEN = "another-token-of-the-ingress-tests";

let fixture: IngressHost;
let ingress: WebhookIngress;
beforeEach(async () => {
  fixture = await IngressHost.listen();
  ingress = new WebhookIngress({ openStore: fixture.openStore });
});
afterEach(() => fixture[Symbol.asyncDispose]());

function call(path = "/hooks/agent"): Promise<HostAnswer> {
  return fixture.post(path, AGENT_CALL);
}

/** Runs hold until it is resolved. */
function holdRuns(): PromiseWithResolvers<AgentRunResult> {
  const held = Promise.withResolvers<AgentRunResult>();
  fixture.scripted.onRun = () => held.promise;
  return held;
}

describe("WebhookIngress.apply", () => {
  it("only taps: nothing is opened and nothing is answered before a configuration was loaded", async () => {
    ingress.apply(fixture.host);
    expect(readdirSync(fixture.folder)).toEqual([]);
    expect((await call()).status).toBe(404);
  });

  it("throws the second time on the same host object, and on that of another gateway", async () => {
    ingress.apply(fixture.host);
    const taps = fixture.host.lifecycle.onConfigLoad.taps.length;
    expect(() => ingress.apply(fixture.host)).toThrow("applied to that host already");
    expect(fixture.host.lifecycle.onConfigLoad.taps).toHaveLength(taps);
    const other = await fixture.other({ sameFolder: false });
    expect(() => ingress.apply(other.host)).toThrow("applied to another gateway already");
    expect(other.host.lifecycle.onConfigLoad.isUsed()).toBe(false);
  });
});

describe("WebhookIngress.hooks", () => {
  it("are the same object before and after apply, in either order of access", () => {
    const before = WebhookIngress.hooks(fixture.host);
    ingress.apply(fixture.host);
    expect(WebhookIngress.hooks(fixture.host)).toBe(before);
    expect(Object.isFrozen(before)).toBe(true);
  });

  it("are another host's own", async () => {
    const other = await fixture.other({ sameFolder: false });
    expect(WebhookIngress.hooks(other.host)).not.toBe(WebhookIngress.hooks(fixture.host));
  });

  it("fire also for taps that were there before the plugin was applied", async () => {
    const accepted: string[] = [];
    WebhookIngress.hooks(fixture.host).accepted.tap("early", ({ route }) => void accepted.push(`early ${route}`));
    ingress.apply(fixture.host);
    WebhookIngress.hooks(fixture.host).accepted.tap("late", ({ route }) => void accepted.push(`late ${route}`));
    await fixture.load({}, "start");
    await call();
    expect(accepted).toEqual(["early agent", "late agent"]);
  });
});

describe("WebhookIngress.deliveries", () => {
  it("throws before apply", () => {
    expect(() => ingress.deliveries()).toThrow("has not been applied");
  });

  it("gives a reader that fails before the first configuration, and reads the state of calls after it", async () => {
    ingress.apply(fixture.host);
    const reader = ingress.deliveries();
    await expect((async () => reader.list({ limit: 1 }))()).rejects.toMatchObject({
      name: "StoreError",
      code: "CLOSED",
    });
    await fixture.load({}, "start");
    const answer = await call();
    const id = String(answer.body["deliveryId"]);
    expect((await reader.list({ limit: 10 })).deliveries).toMatchObject([{ id, route: "agent" }]);
    expect(await reader.get(id)).toMatchObject({ id, bodyBytes: JSON.stringify(AGENT_CALL).length });
    expect(await reader.get("nonsense")).toBeUndefined();
  });
});

describe("WebhookIngress.operations", () => {
  it("throws before apply, and before the first configuration", () => {
    expect(() => ingress.operations()).toThrow("has not been applied");
    ingress.apply(fixture.host);
    expect(() => ingress.operations()).toThrow("has not been started");
  });

  it("replays and cancels deliveries, by the active configuration", async () => {
    ingress.apply(fixture.host);
    await fixture.load({}, "start");
    const { deliveries } = ingress.operations();
    const { body } = await call();
    const id = String(body["deliveryId"]);
    await vi.waitFor(async () => expect((await deliveries.get(id))?.state).toBe("done"), SOON);
    const again = await deliveries.replay(id, { asAccepted: false });
    expect(again).toMatchObject({ kind: "replayed", runIds: [expect.any(String)] });
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(2), SOON);

    const held = holdRuns();
    const { body: second } = await call();
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(3), SOON);
    const canceled = await deliveries.cancel(String(second["deliveryId"]));
    expect(canceled).toEqual({ kind: "canceled", runs: 1 });
    expect(fixture.scripted.runs[2]?.signal.aborted).toBe(true);
    held.resolve({ status: "aborted", reply: "" });
  });
});

describe("the store of an ingress", () => {
  it("is the one that the host gives", async () => {
    const store = await fixture.openStore();
    ingress = new WebhookIngress({ openStore: async () => store });
    ingress.apply(fixture.host);
    await fixture.load({}, "start");
    expect((await call()).status).toBe(202);
    expect((await store.list({ limit: 5 })).deliveries).toHaveLength(1);
    expect(readdirSync(fixture.folder)).toEqual(["gateway.key"]);
  });

  it("is opened once, with the first configuration that is valid", async () => {
    let opened = 0;
    ingress = new WebhookIngress({ openStore: () => (opened++, fixture.openStore()) });
    ingress.apply(fixture.host);
    await expect(fixture.offer({ token: "" }, "start")).rejects.toThrow("hooks.token");
    expect(opened).toBe(0);
    await fixture.load({}, "start");
    await fixture.load({ maxDepth: 10 });
    expect(opened).toBe(1);
  });

  it("is cleaned up from the first commit until the shutdown, and not before", async () => {
    const pruned: number[] = [];
    ingress = new WebhookIngress({
      openStore: async () => {
        const store = await fixture.openStore();
        const prune = store.prune.bind(store);
        store.prune = (limits) => {
          pruned.push(limits.now - limits.removeBefore);
          return prune(limits);
        };
        return store;
      },
    });
    ingress.apply(fixture.host);
    const commit = await fixture.offer({ retention: { deliveries: "2d", payloads: "1d" } }, "start");
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(pruned).toEqual([]);
    commit();
    await vi.waitFor(() => expect(pruned).toEqual([2 * 24 * 60 * 60 * 1_000]), SOON);
    await fixture.shutdown(5_000);
  });

  it("that cannot be opened refuses the configuration, and is tried again with the next", async () => {
    let isBroken = true;
    ingress = new WebhookIngress({
      openStore: async () => {
        if (isBroken) throw new Error("no such disk");
        return fixture.openStore();
      },
    });
    ingress.apply(fixture.host);
    await expect(fixture.offer({}, "start")).rejects.toThrow("no such disk");
    isBroken = false;
    await fixture.load({}, "start");
    expect((await call()).status).toBe(202);
  });
});

describe("a store that is opened while the ingress is shut down", () => {
  let opened: DeliveryStore | undefined;
  let offered: Promise<unknown>;

  /** Offers the first configuration, whose store is there once `held` is resolved. */
  async function offerHeld(): Promise<{ readonly held: PromiseWithResolvers<void> }> {
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    ingress = new WebhookIngress({
      openStore: async () => {
        asked.resolve();
        await held.promise;
        return (opened = await fixture.openStore());
      },
    });
    ingress.apply(fixture.host);
    offered = fixture.offer({}, "start").catch(String);
    await asked.promise;
    return { held };
  }

  async function expectClosed(): Promise<void> {
    expect(await offered).toContain("The ingress has been shut down.");
    await expect(opened!.outages()).rejects.toMatchObject({ code: "CLOSED" });
  }

  it("is waited for, and closed", async () => {
    const { held } = await offerHeld();
    const down = fixture.shutdown(60_000);
    held.resolve();
    await down;
    await expectClosed();
  });

  it("is waited for until the deadline, and closed once it is there", async () => {
    const { held } = await offerHeld();
    await fixture.shutdown(20);
    held.resolve();
    await expectClosed();
  });
});

describe("a store that cannot be read", () => {
  it("refuses the configuration, is closed, and is opened again with the next", async () => {
    let isBroken = true;
    ingress = new WebhookIngress({
      openStore: async () => {
        const store = await fixture.openStore();
        if (isBroken) store.outages = () => Promise.reject(new StoreError("UNAVAILABLE", "a page is gone"));
        return store;
      },
    });
    ingress.apply(fixture.host);
    await expect(fixture.offer({}, "start")).rejects.toThrow("a page is gone");
    expect(() => ingress.operations()).toThrow("has not been started");
    isBroken = false;
    await fixture.load({}, "start");
    expect((await call()).status).toBe(202);
  });
});

describe("a store that takes nothing", () => {
  async function startWith(failure: Error): Promise<void> {
    ingress = new WebhookIngress({
      openStore: async () => {
        const store = await fixture.openStore();
        store.accept = () => Promise.reject(failure);
        return store;
      },
    });
    ingress.apply(fixture.host);
    await fixture.load({}, "start");
  }

  it("is answered 503 with Retry-After, and the log says why", async () => {
    await startWith(new StoreError("UNAVAILABLE", "the disk is full"));
    const answer = await call();
    expect([answer.status, answer.body["code"]]).toEqual([503, "STORE_UNAVAILABLE"]);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]/);
    expect(JSON.stringify(answer.body)).not.toContain("disk");
    expect(fixture.logger.lines.findLast(({ level }) => level === "error")?.fields["err"]).toMatchObject({
      message: "the disk is full",
    });
    expect((await ingress.deliveries().list({ limit: 1 })).deliveries).toEqual([]);
  });

  it("gives the room in the queue back that was kept for the call", async () => {
    await startWith(new StoreError("UNAVAILABLE", "the disk is full"));
    await fixture.load({ maxQueuedRuns: 1 });
    for (let round = 0; round < 3; round++) expect((await call()).body["code"]).toBe("STORE_UNAVAILABLE");
  });

  it("for a reason that is a defect is answered 500 and not mistaken for a full disk", async () => {
    await startWith(new TypeError("a defect"));
    const answer = await call();
    expect([answer.status, answer.body["code"]]).toEqual([500, "INTERNAL"]);
    expect(JSON.stringify(answer.body)).not.toContain("defect");
  });
});

describe("a configuration", () => {
  beforeEach(async () => {
    ingress.apply(fixture.host);
    await fixture.load({}, "start");
  });

  it("is active from its commit on, and not before", async () => {
    const commit = await fixture.offer({ token: OTHER_TOKEN });
    expect((await call()).status).toBe(202);
    expect((await fixture.post("/hooks/agent", AGENT_CALL, OTHER_TOKEN)).status).toBe(401);
    commit();
    expect((await call()).status).toBe(401);
    expect((await fixture.post("/hooks/agent", AGENT_CALL, OTHER_TOKEN)).status).toBe(202);
  });

  it("that a later plugin refuses leaves the active one in place", async () => {
    fixture.host.lifecycle.onConfigLoad.tap("later", ({ reason }) => {
      if (reason === "reload") throw new Error("not with me");
    });
    const refused = fixture.offer({ token: OTHER_TOKEN, path: "/other" });
    await expect(refused).rejects.toThrow('Hook "onConfigLoad", tap "later": not with me');
    expect((await call()).status).toBe(202);
    expect((await fixture.post("/hooks/agent", AGENT_CALL, OTHER_TOKEN)).status).toBe(401);
    expect((await fixture.post("/other/agent", AGENT_CALL, OTHER_TOKEN)).status).toBe(404);
  });

  it("that is not valid is refused with every key, and the one before stays", async () => {
    const refused = fixture.offer({ maxDepht: 1, concurrency: 0 });
    await expect(refused).rejects.toThrow(/hooks\.concurrency[^]*maxDepht|maxDepht[^]*hooks\.concurrency/);
    expect((await call()).status).toBe(202);
  });

  it("lists the warnings of a valid configuration once it is active", async () => {
    const warnings = () => fixture.logger.lines.filter(({ level }) => level === "warn").length;
    const before = warnings();
    const mappings = [{ match: { path: "wake" }, messageTemplate: "x" }];
    const commit = await fixture.offer({ mappings });
    expect(warnings()).toBe(before);
    commit();
    expect(
      fixture.logger.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields["warning"]),
    ).toContainEqual(expect.stringContaining('"wake" is a built-in endpoint'));
  });

  it("moves the route, and without hooks.enabled there is none", async () => {
    await fixture.load({ path: "/moved" });
    expect([(await call()).status, (await call("/moved/agent")).status]).toEqual([404, 202]);
    await fixture.load({ enabled: false });
    expect([(await call()).status, (await call("/moved/agent")).status]).toEqual([404, 404]);
    await fixture.load();
    expect((await call()).status).toBe(202);
  });

  it("that follows does not touch a request in progress, which finishes on the one it started with", async () => {
    const body = JSON.stringify(AGENT_CALL);
    const socket = connect({ host: "127.0.0.1", port: fixture.port });
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    const head = ["POST /hooks/agent HTTP/1.1", "Host: x", `Authorization: Bearer ${TOKEN}`, "Expect: 100-continue"];
    socket.write([...head, `Content-Length: ${body.length}`, "", ""].join("\r\n"));
    // It is let in and its body is awaited.
    await vi.waitFor(() => expect(received).toContain("100 Continue"), SOON);
    await fixture.load({ token: OTHER_TOKEN, path: "/other", maxBodyBytes: 1 });
    socket.write(body);
    await vi.waitFor(() => expect(received).toContain("HTTP/1.1 202"), SOON);
    socket.destroy();
  });

  it("changes how many runs there are at once", async () => {
    const held = holdRuns();
    await fixture.load({ concurrency: 1 });
    await Promise.all([call(), call(), call()]);
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(1), SOON);
    await fixture.load({ concurrency: 4 });
    // Those that wait need no further call to begin.
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(3), SOON);
    held.resolve({ status: "ok", reply: "NO_REPLY" });
  });

  it("notifies the owner once that a budget is used up, in the main session and on the channel for notices", async () => {
    await fixture.load({ budget: { perHour: 1 }, notices: { channel: "console", to: "owner" } });
    await call();
    await call();
    await vi.waitFor(() => expect(fixture.scripted.sent).toHaveLength(1), SOON);
    const notices = fixture.scripted.events.filter(({ text }) => text.includes("reveille hooks resume"));
    expect(notices).toMatchObject([{ sessionKey: "agent:main:main" }]);
    expect(fixture.scripted.runs).toHaveLength(1);
    expect(await ingress.operations().hooks.resume("*")).toBe(true);
    await vi.waitFor(() => expect(fixture.scripted.runs).toHaveLength(2), SOON);
  });
});
