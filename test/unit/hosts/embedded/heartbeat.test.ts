import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { EmbeddedAgents } from "../../../../src/hosts/embedded/agents.ts";
import { DEFAULT_MODEL_TURN_LIMITS } from "../../../../src/hosts/embedded/agents/model-turn.ts";
import { EmbeddedChannels } from "../../../../src/hosts/embedded/channels.ts";
import { OutboxSender } from "../../../../src/hosts/embedded/channels/outbox-sender.ts";
import type { AgentsConfig } from "../../../../src/hosts/embedded/config/file.ts";
import {
  DEFAULT_HEARTBEAT_TIMING,
  EmbeddedHeartbeat,
  type HeartbeatTiming,
} from "../../../../src/hosts/embedded/heartbeat.ts";
import { answers, beginsStream, type ModelBehavior, ModelServer, streams } from "./agents/model-server.ts";
import { WebhookReceiver } from "./channels/webhook-receiver.ts";
import { agentConfig, embeddedAgents, gatewayConfig, START, TemporaryGateway } from "./state/temporary-gateway.ts";

const MAIN = "agent:main:main";
const TIMING: HeartbeatTiming = { coalesceMs: 15, retryDelaysMs: [10, 10] };

let gateway: TemporaryGateway;
let server: ModelServer;
let channels: EmbeddedChannels;
let heartbeat: EmbeddedHeartbeat;

beforeAll(async () => {
  gateway = await TemporaryGateway.open();
});

beforeEach(async () => {
  await gateway.reset();
});

afterEach(async () => {
  await heartbeat.stop(0);
  await server[Symbol.asyncDispose]();
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

/** Builds the heartbeat and what it needs on the database as it is now, and does not start it. */
function build(timing: Partial<HeartbeatTiming> = {}): void {
  const { parts } = gateway;
  channels = new EmbeddedChannels(parts);
  heartbeat = new EmbeddedHeartbeat({
    ...parts,
    channels,
    agents: embeddedAgents(gateway, { ...DEFAULT_MODEL_TURN_LIMITS, retryDelaysMs: [] }),
    timing: { ...TIMING, ...timing },
    sender: new OutboxSender({ ...parts, channels, retryDelaysMs: [5, 5] }),
  });
}

/** Configures a model that behaves as scripted; the heartbeat is built and not started. */
async function serve(behaviors: ModelBehavior[], overrides: Partial<AgentsConfig> = {}): Promise<void> {
  server = await ModelServer.start(behaviors);
  const provider = { baseUrl: server.baseUrl, apiKey: undefined, headers: {} };
  gateway.config = gatewayConfig({
    models: { providers: new Map([["local", provider]]) },
    agents: { ...gateway.config.agents, list: [agentConfig({ model: "local/base" })], ...overrides },
  });
  build();
}

function request(reason = "hook:wake", agentId = "main"): void {
  heartbeat.request({ agentId, sessionKey: gateway.sessions.mainSessionKey(agentId), reason });
}

function prompts(): string[] {
  return server.requests.map(({ body }) => body.messages.at(-1)!.content);
}

function eventually<Value>(read: () => Value) {
  return expect.poll(read, { interval: 5, timeout: 10_000 });
}

/** Waits until so many turns, or more, are in the main session's transcript. */
async function turnsStored(count: number): Promise<void> {
  await eventually(
    async () => (await gateway.texts()).filter((text) => text.startsWith("assistant:")).length,
  ).toBeGreaterThanOrEqual(count);
}

/** Longer than requests are batched: a turn that was due would have begun. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 4 * TIMING.coalesceMs));
}

describe("a requested turn", () => {
  it("spec 6: an immediate heartbeat gives the agent the pending events and consumes them", async () => {
    await serve([streams("I will look ", "into it.")], {
      list: [agentConfig({ model: "local/base", systemPrompt: "Be." })],
    });
    heartbeat.start();
    await gateway.wake("Disk almost full\nsecond line");
    request();
    await turnsStored(1);
    const time = new Date(START).toISOString();
    expect(server.requests[0]!.body.messages).toEqual([
      { role: "system", content: "Be." },
      {
        role: "user",
        content: expect.stringMatching(
          /^System: \[2026-02-27T10:00:00\.000Z\] Disk almost full\nSystem: second line\n\nHeartbeat \(hook:wake\), /,
        ) as string,
      },
    ]);
    expect(prompts()[0]).toContain(time);
    expect(await gateway.texts()).toEqual([`user: ${prompts()[0]!}`, "assistant: I will look into it."]);
    expect(await gateway.pendingTexts()).toEqual([]);
    const [message] = (await gateway.sessions.messages(MAIN, { limit: 1 })).messages;
    expect(message!.runId).toMatch(/^heartbeat:[0-9a-f-]{36}$/);
  });

  it("is one turn for requests that arrive together, and names their reasons", async () => {
    await serve([streams("ok")]);
    heartbeat.start();
    await Promise.all(Array.from({ length: 50 }, (_, n) => gateway.wake(`event ${n}`)));
    for (let n = 0; n < 50; n += 1) request(`hook:${n % 2}`);
    await turnsStored(1);
    await settle();
    expect(server.requests).toHaveLength(1);
    expect(prompts()[0]).toContain("event 0");
    expect(prompts()[0]).toContain("event 49");
    expect(prompts()[0]).toContain("(hook:0, hook:1)");
  });

  it("names eight reasons at most", async () => {
    await serve([streams("ok")]);
    heartbeat.start();
    for (let n = 0; n < 20; n += 1) request(`hook:${n}`);
    await turnsStored(1);
    expect(prompts()[0]).toContain("(hook:0, hook:1, hook:2, hook:3, hook:4, hook:5, hook:6, hook:7), ");
  });

  it("takes place without events too when the session was idle", async () => {
    await serve([streams("HEARTBEAT_OK")]);
    heartbeat.start();
    request();
    await turnsStored(1);
    expect(prompts()[0]).toContain("No new system events have arrived.");
  });

  it("sees the turns of the session before it, and no isolated run", async () => {
    await serve([streams("first answer"), streams("second answer")]);
    heartbeat.start();
    await gateway.wake("one");
    request();
    await turnsStored(1);
    await gateway.sessions.beginRun({ sessionKey: MAIN, runId: "r1", prompt: "isolated" });
    await gateway.wake("two");
    request();
    await turnsStored(2);
    const contents = server.requests[1]!.body.messages.map(({ content }) => content);
    expect(contents).toEqual([prompts()[0], "first answer", expect.stringContaining("two")]);
  });

  it("sees a turn before it that said nothing as one that had nothing to say", async () => {
    await serve([streams(), streams("ok")]);
    heartbeat.start();
    await gateway.wake("one");
    request();
    await turnsStored(1);
    await gateway.wake("two");
    request();
    await turnsStored(2);
    const said = server.requests[1]!.body.messages.map(({ role, content }) => [role, content]);
    expect(said).toEqual([
      ["user", prompts()[0]],
      ["assistant", "NO_REPLY"],
      ["user", prompts()[1]],
    ]);
  });

  it("runs one at a time in a session: a request meanwhile makes one more turn", async () => {
    let underWay = 0;
    let most = 0;
    const asked = Promise.withResolvers<void>();
    const slow: ModelBehavior = (res, sent) => {
      underWay += 1;
      most = Math.max(most, underWay);
      void asked.promise.then(() => {
        underWay -= 1;
        streams("ok")(res, sent);
      });
    };
    await serve([slow]);
    heartbeat.start();
    await gateway.wake("one");
    request();
    await eventually(() => server.requests.length).toBe(1);
    await gateway.wake("two");
    request("hook:a");
    request("hook:b");
    asked.resolve();
    await turnsStored(2);
    await settle();
    expect(most).toBe(1);
    expect(server.requests).toHaveLength(2);
    expect(prompts()[1]).toContain("two");
    expect(prompts()[1]).toContain("hook:a, hook:b");
  });

  it("that comes during a turn and finds no events afterwards makes no empty turn", async () => {
    await serve([
      (res, sent) => {
        request("hook:late");
        streams("ok")(res, sent);
      },
    ]);
    heartbeat.start();
    await gateway.wake("one");
    request();
    await turnsStored(1);
    await settle();
    expect(server.requests).toHaveLength(1);
  });

  it("names only what was asked since the turn before it began", async () => {
    await serve([
      (res, sent) => {
        if (server.requests.length === 1) request("periodic");
        streams("ok")(res, sent);
      },
    ]);
    heartbeat.start();
    await gateway.wake("one");
    request("hook:wake");
    await turnsStored(2);
    expect(prompts()[1]).toMatch(/^Heartbeat \(periodic\), /);
  });

  it("runs sessions side by side", async () => {
    const list = [
      agentConfig({ model: "local/base" }),
      agentConfig({ id: "ops", isDefault: false, model: "local/ops" }),
    ];
    await serve([beginsStream("never ends")], { list });
    heartbeat.start();
    await gateway.wake("for main");
    await gateway.wake("for ops", "k", "agent:ops:main");
    request();
    request("hook:wake", "ops");
    await eventually(() => server.requests.map(({ body }) => body.model).toSorted()).toEqual(["base", "ops"]);
  });

  it("takes 100 events at most; the rest make further turns at once, in order", async () => {
    await serve([streams("ok")]);
    heartbeat.start();
    const texts = Array.from({ length: 250 }, (_, n) => `event ${String(n).padStart(3, "0")}`);
    await Promise.all(texts.map((text) => gateway.wake(text)));
    request();
    await turnsStored(3);
    const seen = prompts().map((prompt) => [...prompt.matchAll(/event \d{3}/g)].map(([text]) => text));
    expect(seen.map((events) => events.length)).toEqual([100, 100, 50]);
    expect(seen.flat()).toEqual(texts);
    expect(prompts()[2]).toContain("(hook:wake)");
    expect(await gateway.pendingTexts()).toEqual([]);
  });

  it("takes 64 Ki characters of events at most", async () => {
    await serve([streams("ok")]);
    heartbeat.start();
    await Promise.all(Array.from({ length: 5 }, (_, n) => gateway.wake("x".repeat(30_000), `k${n}`)));
    request();
    await turnsStored(3);
    expect(prompts().map((prompt) => Math.round(prompt.length / 30_000))).toEqual([2, 2, 1]);
  });

  it("asked for before the start takes place after it", async () => {
    await serve([streams("ok")]);
    request();
    await settle();
    expect(server.requests).toEqual([]);
    heartbeat.start();
    await turnsStored(1);
  });

  it("answers by the offline agent when no model is configured", async () => {
    await serve([]);
    gateway.config = gatewayConfig();
    heartbeat.start();
    await gateway.wake("Hook Build: green");
    request();
    await turnsStored(1);
    expect((await gateway.texts())[1]).toContain("built-in offline agent");
    expect((await gateway.texts())[1]).toContain("Hook Build: green");
    request("periodic");
    await turnsStored(2);
    expect((await gateway.texts())[3]).toMatch(/^assistant: HEARTBEAT_OK/);
  });

  it("is refused a lane, and the log says so, when too many sessions wait", async () => {
    await serve([streams("ok")]);
    for (let n = 0; n < 1_001; n += 1) {
      heartbeat.request({ agentId: "main", sessionKey: `agent:${n}:main`, reason: "x" });
    }
    expect(gateway.logger.lines).toMatchObject([{ level: "warn", fields: { sessionKey: "agent:1000:main" } }]);
  });
});

describe("the reply of a turn", () => {
  it("is sent to the session's last route", async () => {
    await serve([streams("The disk is full.")]);
    await gateway.sessions.setLastRoute("main", { channel: "console", to: "owner" });
    heartbeat.start();
    await gateway.wake("disk");
    request();
    await expect
      .poll(async () => (await channels.outbox({ limit: 10 })).messages)
      .toMatchObject([{ channel: "console", to: "owner", text: "The disk is full.", state: "sent" }]);
  });

  it("stays in the session when it may not leave, and the reason is sent", async () => {
    await serve([streams("The code is 4711.")]);
    gateway.sessions.checkOutgoing(
      (given) => (text) => (given().includes("System: ") && text.includes("4711") ? "it has the code" : undefined),
    );
    await gateway.sessions.setLastRoute("main", { channel: "console", to: "owner" });
    heartbeat.start();
    await gateway.wake("disk");
    request();
    const text = `A reply is not sent: it has the code. Read it in the console, or with: reveille sessions show ${MAIN}`;
    await eventually(async () => (await channels.outbox({ limit: 10 })).messages).toMatchObject([
      { text, state: "sent" },
    ]);
    expect((await gateway.texts())[1]).toBe("assistant: The code is 4711.");
  });

  it("is stored and not sent when it only acknowledges", async () => {
    await serve([streams("HEARTBEAT_OK")]);
    await gateway.sessions.setLastRoute("main", { channel: "console", to: "owner" });
    heartbeat.start();
    request();
    await turnsStored(1);
    await settle();
    expect((await gateway.texts())[1]).toBe("assistant: HEARTBEAT_OK");
    expect((await channels.outbox({ limit: 10 })).messages).toEqual([]);
  });

  it("is stored and not sent when the session has no route", async () => {
    await serve([streams("News.")]);
    heartbeat.start();
    request();
    await turnsStored(1);
    await settle();
    expect((await channels.outbox({ limit: 10 })).messages).toEqual([]);
  });

  it("is sent by the next process when this one ended in between, under the same id", async () => {
    await using receiver = await WebhookReceiver.start();
    await serve([streams("News.")]);
    const secret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
    const webhook = { url: receiver.url, secret, defaultTo: undefined, timeoutMs: 5_000 };
    gateway.config = { ...gateway.config, channels: { console: { enabled: true }, webhook, own: new Map() } };
    await gateway.sessions.setLastRoute("main", { channel: "webhook", to: "me" });
    receiver.answer = () => undefined;
    heartbeat.start();
    request();
    await eventually(() => receiver.posts.length).toBe(1);
    await heartbeat.stop(0);
    expect((await channels.outbox({ limit: 10 })).messages).toMatchObject([{ state: "pending" }]);
    await gateway.restart();
    receiver.answer = (res) => void res.writeHead(204).end();
    build();
    heartbeat.start();
    await eventually(async () => (await channels.outbox({ limit: 10 })).messages).toMatchObject([{ state: "sent" }]);
    const ids = receiver.posts.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
  });
});

describe("a turn that fails", () => {
  it("leaves its events pending and is tried again", async () => {
    await serve([answers(400, "no"), streams("now it works")]);
    heartbeat.start();
    await gateway.wake("patient");
    request();
    await turnsStored(1);
    expect(server.requests).toHaveLength(2);
    expect(prompts()[1]).toContain("patient");
    expect(prompts()[1]).toContain("(hook:wake)");
    expect(await gateway.pendingTexts()).toEqual([]);
    expect(await gateway.texts()).toHaveLength(2);
  });

  it("is tried again a few times only; the next heartbeat takes the events", async () => {
    await serve([answers(400, "no"), answers(400, "no"), answers(400, "no"), streams("at last")]);
    heartbeat.start();
    await gateway.wake("patient");
    request();
    const failed = () => gateway.logger.lines.filter(({ message }) => message === "heartbeat turn failed").length;
    await eventually(failed).toBe(3);
    await settle();
    expect(server.requests).toHaveLength(3);
    expect(await gateway.pendingTexts()).toEqual(["patient"]);
    expect(failed()).toBe(3);
    request("periodic");
    await turnsStored(1);
    expect(prompts()[3]).toContain("patient");
  });

  it("for the last time gives what is asked for meanwhile tries of its own", async () => {
    const no = answers(400, "no");
    const last: typeof no = (res, sent) => {
      request("hook:meanwhile");
      no(res, sent);
    };
    await serve([no, no, last, streams("at last")]);
    heartbeat.start();
    await gateway.wake("patient");
    request();
    await turnsStored(1);
    expect(prompts()[3]).toContain("hook:meanwhile");
  });

  it("has its tries counted from zero after a turn that worked", async () => {
    const no = answers(503, "no");
    await serve([no, no, streams("ok"), no, no, streams("ok")]);
    heartbeat.start();
    await Promise.all(Array.from({ length: 150 }, (_, n) => gateway.wake(`event ${n}`)));
    request();
    await turnsStored(2);
    expect(server.requests).toHaveLength(6);
    expect(await gateway.pendingTexts()).toEqual([]);
  });

  /** Refuses what has the word. */
  const refuses =
    (word: string): ModelBehavior =>
    (res, sent) => {
      const isRefused = sent.body.messages.at(-1)!.content.includes(word);
      (isRefused ? answers(400, "filtered") : streams("ok"))(res, sent);
    };

  it("because of one event keeps no other event waiting, and tries that one again after them", async () => {
    await serve([refuses("poison")]);
    build({ retryDelaysMs: [5, 5, 5, 5] });
    heartbeat.start();
    for (const text of ["poison", ...Array.from({ length: 120 }, (_, n) => `event ${n}`)]) await gateway.wake(text);
    request();
    await eventually(() => gateway.pendingTexts()).toEqual(["poison"]);
    await gateway.wake("later");
    request();
    await eventually(() => gateway.pendingTexts()).toEqual(["poison"]);
    const seen = prompts().filter((prompt) => !prompt.includes("poison"));
    expect(seen.join("\n").match(/event \d+|later/gu)).toHaveLength(121);
  });

  it("for a reason that is none of its events passes none over: they keep their order", async () => {
    await serve([answers(401, "wrong key"), streams("ok")]);
    build({ retryDelaysMs: [500] });
    heartbeat.start();
    await gateway.wake("first");
    request();
    await eventually(() => gateway.logger.lines.some(({ message }) => message === "heartbeat turn failed")).toBe(true);
    await gateway.wake("second");
    request();
    await eventually(() => gateway.pendingTexts()).toEqual([]);
    expect(prompts().at(-1)).toMatch(/first[\s\S]*second/u);
  });

  it("because of what the owner wrote keeps no event waiting", async () => {
    await serve([refuses("poison")]);
    heartbeat.start();
    const owner = { channel: "console", to: "owner" };
    const event = { sessionKey: MAIN, text: "poison", idempotencyKey: "k", owner };
    await gateway.sessions.enqueueSystemEvent(event);
    await gateway.wake("one");
    request();
    await eventually(() => gateway.pendingTexts()).toEqual(["poison"]);
    expect(prompts().filter((prompt) => prompt.includes("one"))).toHaveLength(1);
  });

  it("that was answered but could not be stored is repeated, and loses nothing", async () => {
    await serve([
      (res, sent) => {
        void gateway.database.close().then(() => streams("lost answer")(res, sent));
      },
      streams("second answer"),
    ]);
    heartbeat.start();
    await gateway.wake("patient");
    request();
    await eventually(() => gateway.logger.lines.some(({ level }) => level === "error")).toBe(true);
    await heartbeat.stop(0);
    await gateway.restart();
    expect(await gateway.pendingTexts()).toEqual(["patient"]);
    expect(await gateway.texts()).toEqual([]);
    build();
    heartbeat.start();
    await turnsStored(1);
    expect((await gateway.texts())[1]).toBe("assistant: second answer");
    expect(await gateway.pendingTexts()).toEqual([]);
  });

  it("is aborted after the agents' time limit", async () => {
    await serve([beginsStream("hm")], { timeoutMs: 200 });
    // On a slow machine the time may be up before the model was asked.
    build({ retryDelaysMs: Array<number>(50).fill(10) });
    heartbeat.start();
    await gateway.wake("patient");
    request();
    await eventually(() => server.abandoned).toBeGreaterThan(0);
    await eventually(() => gateway.logger.lines.at(-1)?.fields["status"]).toBe("timeout");
    expect(await gateway.pendingTexts()).toEqual(["patient"]);
  });
});

describe("after a restart", () => {
  it("sessions whose turn was asked for get it, those that wait for the next heartbeat do not", async () => {
    await serve([streams("ok")]);
    await gateway.wake("now");
    await gateway.wake("later", "later", "agent:ops:main");
    request();
    await heartbeat.stop(0);
    await gateway.restart();
    build();
    heartbeat.start();
    await turnsStored(1);
    await settle();
    expect(server.requests).toHaveLength(1);
    expect(await gateway.pendingTexts("agent:ops:main")).toEqual(["later"]);
  });

  it("a request that comes while a turn is being stored is not forgotten with it", async () => {
    await serve([streams("ok"), beginsStream("never ends")]);
    const { database } = gateway;
    const write = database.write.bind(database);
    const spy = vi.spyOn(database, "write").mockImplementation(async (operation, args) => {
      const written = write<never>(operation, args);
      if (operation === "embedded.appendTurn") {
        const waked = gateway.wake("two");
        request("hook:two");
        await waked;
      }
      return written;
    });
    heartbeat.start();
    await gateway.wake("one");
    request("hook:one");
    await eventually(() => server.requests.length).toBe(2);
    expect(prompts()[1]).toContain("two");
    const hookTwo = { agentId: "main", sessionKey: MAIN, reason: "hook:two", pending: 1 };
    await eventually(async () => await gateway.sessions.requestedTurns()).toEqual([hookTwo]);
    spy.mockRestore();
  });
});

describe("the periodic heartbeat", () => {
  it("spec 6: next-heartbeat events are taken at the next periodic check, of every agent", async () => {
    const list = [
      agentConfig({ model: "local/base" }),
      agentConfig({ id: "ops", isDefault: false, model: "local/ops" }),
    ];
    await serve([streams("HEARTBEAT_OK")], { list, heartbeatEveryMs: 100 });
    await gateway.wake("no hurry");
    heartbeat.start();
    await turnsStored(2);
    expect(await gateway.pendingTexts()).toEqual([]);
    const mine = server.requests.filter(({ body }) => body.model === "base").map(({ body }) => body.messages);
    expect(mine[0]!.at(-1)!.content).toContain("no hurry");
    expect(mine[1]!.at(-1)!.content).toMatch(/^Heartbeat \(periodic\), .* No new system events/);
    await eventually(async () => (await gateway.texts("agent:ops:main")).length).toBeGreaterThan(0);
  });

  it("is off at 0, and follows the configuration after a reload", async () => {
    await serve([streams("HEARTBEAT_OK")], { heartbeatEveryMs: 0 });
    heartbeat.start();
    await settle();
    expect(server.requests).toEqual([]);
    const { agents } = gateway.config;
    gateway.config = { ...gateway.config, agents: { ...agents, heartbeatEveryMs: 20 } };
    heartbeat.reschedule();
    await turnsStored(1);
    gateway.config = { ...gateway.config, agents };
    // Asked at each beat; a turn of the last one may still be in progress.
    const list = vi.spyOn(EmbeddedAgents.prototype, "list");
    heartbeat.reschedule();
    await settle();
    expect(list).not.toHaveBeenCalled();
  });

  it("does not run early when its period is longer than a timer can be", async () => {
    await serve([streams("HEARTBEAT_OK")], { heartbeatEveryMs: 1e12 });
    heartbeat.start();
    await settle();
    expect(server.requests).toEqual([]);
  });
});

describe("stop", () => {
  it("lets the turn in progress finish and starts no other", async () => {
    await serve([
      (res, sent) => {
        setTimeout(() => streams("in time")(res, sent), 50);
      },
    ]);
    heartbeat.start();
    await gateway.wake("one");
    request();
    await eventually(() => server.requests.length).toBe(1);
    await gateway.wake("two");
    request();
    await heartbeat.stop(gateway.now + 60_000);
    expect((await gateway.texts())[1]).toBe("assistant: in time");
    expect(await gateway.pendingTexts()).toEqual(["two"]);
    await settle();
    expect(server.requests).toHaveLength(1);
  });

  it("aborts the turn at the deadline; its events stay pending and asked for", async () => {
    await serve([beginsStream("never ends")]);
    heartbeat.start();
    await gateway.wake("one");
    request();
    await eventually(() => server.requests.length).toBe(1);
    await heartbeat.stop(gateway.now + 50);
    await eventually(() => server.abandoned).toBe(1);
    expect(await gateway.pendingTexts()).toEqual(["one"]);
    expect(await gateway.texts()).toEqual([]);
    expect(await gateway.sessions.requestedTurns()).toHaveLength(1);
  });

  it("begins no turn that was due", async () => {
    await serve([streams("ok")]);
    heartbeat.start();
    await gateway.wake("one");
    request();
    await heartbeat.stop(0);
    await settle();
    expect(server.requests).toEqual([]);
    expect(await gateway.pendingTexts()).toEqual(["one"]);
  });

  it("ends the periodic heartbeat, which a reload does not begin again", async () => {
    await serve([streams("ok")], { heartbeatEveryMs: 5 });
    const list = vi.spyOn(EmbeddedAgents.prototype, "list");
    heartbeat.reschedule();
    await settle();
    expect(list).not.toHaveBeenCalled();
    heartbeat.start();
    await eventually(() => list.mock.calls.length).toBeGreaterThan(0);
    await heartbeat.stop(0);
    heartbeat.reschedule();
    list.mockClear();
    await settle();
    expect(list).not.toHaveBeenCalled();
  });

  it("lets a reply in progress be sent", async () => {
    await using receiver = await WebhookReceiver.start();
    await serve([streams("News.")]);
    const secret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
    const webhook = { url: receiver.url, secret, defaultTo: undefined, timeoutMs: 5_000 };
    gateway.config = { ...gateway.config, channels: { console: { enabled: true }, webhook, own: new Map() } };
    await gateway.sessions.setLastRoute("main", { channel: "webhook", to: "me" });
    receiver.answer = (res) => void setTimeout(() => res.writeHead(204).end(), 50);
    heartbeat.start();
    request();
    await eventually(() => receiver.posts.length).toBe(1);
    await heartbeat.stop(gateway.now + 60_000);
    expect((await channels.outbox({ limit: 1 })).messages).toMatchObject([{ state: "sent" }]);
  });

  it("still remembers requests, for the next process", async () => {
    await serve([streams("ok")]);
    heartbeat.start();
    await heartbeat.stop(0);
    await gateway.wake("late");
    request("hook:late");
    await eventually(async () => await gateway.sessions.requestedTurns()).toMatchObject([{ reason: "hook:late" }]);
    await settle();
    expect(server.requests).toEqual([]);
  });

  it("does not fail on a request that cannot be stored any more", async () => {
    await serve([streams("ok")]);
    await gateway.database.close();
    request();
    await expect
      .poll(() => gateway.logger.lines.map(({ message }) => message))
      .toEqual(["a heartbeat request could not be stored"]);
    await gateway.restart();
    build();
  });
});

it("batches requests for 250 ms in the gateway", () => {
  expect(DEFAULT_HEARTBEAT_TIMING.coalesceMs).toBe(250);
});
