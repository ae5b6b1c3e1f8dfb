import { describe, expect, it, vi } from "vitest";
import type { RequestHead } from "../../../src/core/delivery.ts";
import type { AgentSpec } from "../../../src/core/run.ts";
import { compileMapping, definePreset } from "../../../src/index.ts";
import { AUTHORIZED } from "./running-gateway.ts";
import { mappingConfig, startWith } from "./tapped-gateway.ts";

const PLUGGED = definePreset({
  name: "plugged",
  title: "Plugged",
  documentation: "https://example.com/webhooks",
  auth: { scheme: "token" },
  message: ({ payload }) => `From a plugin: ${(payload as { text?: string }).text ?? "nothing"}`,
  mapping: { deliver: false, wakeMode: "next-heartbeat" },
  samples: { text: { payload: { text: "hello" } } },
  setup: ["Post to {url} with the hook token."],
});

describe("presets", () => {
  it("that a tap adds can be enabled by name, and come after the operator's own mappings", async () => {
    await using gateway = await startWith(
      (hooks) => {
        hooks.presets.tap("plugin", (registry) => registry.add(PLUGGED));
      },
      {
        presets: ["plugged"],
        mappings: [{ match: { path: "plugged", source: "own" }, messageTemplate: "own", deliver: false }],
      },
    );
    const answer = await gateway.post("/hooks/plugged", { text: "hello" });
    expect(answer.status).toBe(200);
    const delivery = await gateway.delivery(answer.body["deliveryId"]);
    expect(delivery.mappingId).toBe("plugged");
    expect((delivery.runs[0]!.spec as AgentSpec).message).toBe("From a plugin: hello");
    const own = await gateway.post("/hooks/plugged", { source: "own" });
    expect((await gateway.delivery(own.body["deliveryId"])).mappingId).toBe("mapping-1");
  });

  it("that no plugin adds are refused at load, with the known names", async () => {
    const started = startWith((hooks) => hooks.presets.tap("plugin", (registry) => registry.add(PLUGGED)), {
      presets: ["pluged"],
    });
    await expect(started).rejects.toThrow(/hooks\.presets\[0\].*plugged/s);
  });

  it("that bring a mapping with an id that is taken keep it, under a prefix", async () => {
    await using gateway = await startWith((hooks) => hooks.presets.tap("plugin", (registry) => registry.add(PLUGGED)), {
      presets: ["plugged"],
      mappings: [{ id: "plugged", match: { path: "own" }, messageTemplate: "x" }],
    });
    const answer = await gateway.post("/hooks/plugged", {});
    expect((await gateway.delivery(answer.body["deliveryId"])).mappingId).toBe("preset-plugged");
  });
});

describe("received", () => {
  it("observes every request that was read, without its credentials, whatever its outcome", async () => {
    const seen: RequestHead[] = [];
    await using gateway = await startWith((hooks) => {
      hooks.received.tap("observer", (request) => void seen.push(request));
    });
    await gateway.post("/hooks/wake?a=1&access_token=x", { text: "x", mode: "next-heartbeat" }, { "x-event": "push" });
    await gateway.post("/hooks/wake", "{");
    await gateway.send({ body: "{}" });
    await gateway.send({ headers: [AUTHORIZED, "Content-Length: 999999999"] });
    expect(seen).toHaveLength(2);
    expect(seen[0]).toMatchObject({ method: "POST", path: "wake", query: { a: "1" }, clientAddress: "127.0.0.1" });
    expect(seen[0]!.headers).toMatchObject({ "x-event": "push" });
    for (const { headers, query } of seen) {
      expect(headers).not.toHaveProperty("authorization");
      expect(query).not.toHaveProperty("access_token");
    }
  });
});

describe("authenticate", () => {
  const SIGNED = ["x-signature: right"];
  const WAKE = JSON.stringify({ text: "x", mode: "next-heartbeat" });

  it("lets a call in by a tap's credential, and is 401 when no tap answers", async () => {
    const asked: string[] = [];
    await using gateway = await startWith(
      (hooks) => {
        hooks.authenticate.tap("indifferent", () => undefined);
        hooks.authenticate.tapPromise("signatures", async ({ headers, method, path, query, clientAddress }) => {
          asked.push([method, path, query["a"], clientAddress].join(" "));
          return headers["x-signature"] === "right" ? { scheme: "signature", id: "sender-1" } : undefined;
        });
      },
      { lockout: { failures: 3 } },
    );
    expect((await gateway.send({ target: "/hooks/wake?a=1", headers: SIGNED, body: WAKE })).status).toBe(200);
    expect((await gateway.send({ headers: ["x-signature: wrong"], body: WAKE })).status).toBe(401);
    expect((await gateway.send({ headers: [AUTHORIZED], body: WAKE })).status).toBe(200);
    expect(asked[0]).toBe("POST wake 1 127.0.0.1");
    // Known to a tap, a sender costs its address no failure; and is let in where that is locked.
    for (let round = 0; round < 5; round++) {
      expect((await gateway.send({ headers: SIGNED, body: WAKE })).status).toBe(200);
    }
    for (const status of [401, 401, 401, 429]) expect((await gateway.send({ body: WAKE })).status).toBe(status);
    expect((await gateway.send({ headers: SIGNED, body: WAKE })).status).toBe(200);
  });

  it("is not asked about a call with the right token, which no tap can stop", async () => {
    const asked = vi.fn(() => {
      throw new Error("out of order");
    });
    await using gateway = await startWith((hooks) => hooks.authenticate.tap("broken", asked));
    expect((await gateway.send({ headers: [AUTHORIZED], body: WAKE })).status).toBe(200);
    expect(asked).not.toHaveBeenCalled();
    expect((await gateway.send({ body: WAKE })).status).toBe(500);
    expect(gateway.errors.join()).toContain('Hook "authenticate", tap "broken": out of order');
  });

  it("scopes idempotency keys to the credential that a tap gave", async () => {
    await using gateway = await startWith((hooks) => {
      hooks.authenticate.tap("senders", ({ headers }) => {
        const id = headers["x-sender"];
        return typeof id === "string" ? { scheme: "sender", id } : undefined;
      });
    });
    const post = (sender: string) =>
      gateway.send({ headers: [`x-sender: ${sender}`, "Idempotency-Key: k"], body: WAKE });
    const first = await post("a");
    expect((await post("a")).text).toBe(first.text);
    expect((await post("b")).text).not.toBe(first.text);
  });
});

describe("resolve", () => {
  it("supplies a mapping where no configured one matches, and is 404 when no tap does", async () => {
    const mapping = compileMapping(mappingConfig({ accept: ["text"], maxBodyBytes: 64 }), undefined);
    await using gateway = await startWith(
      (hooks) => hooks.resolve.tap("router", ({ path }) => (path.startsWith("dynamic/") ? mapping : undefined)),
      { mappings: [{ match: { path: "dynamic/own" }, messageTemplate: "own", deliver: false }] },
    );
    const answer = await gateway.post("/hooks/dynamic/1", { text: "routed" });
    expect(answer.status).toBe(202);
    expect((await gateway.delivery(answer.body["deliveryId"])).runs[0]!.spec).toMatchObject({
      message: "From a plugin: routed",
    });
    const own = await gateway.post("/hooks/dynamic/own", {});
    expect((await gateway.delivery(own.body["deliveryId"])).mappingId).toBe("mapping-1");
    expect((await gateway.post("/hooks/static", {})).status).toBe(404);
    expect((await gateway.post("/hooks/dynamic/1", { text: "x".repeat(64) })).status).toBe(413);
    expect((await gateway.send({ target: "/hooks", headers: [AUTHORIZED], body: "{}" })).status).toBe(404);
  });

  it("brings a mapping that takes what is not JSON, as a configured one can", async () => {
    const mapping = compileMapping(mappingConfig({ accept: ["text", "form"] }), undefined);
    await using gateway = await startWith((hooks) => hooks.resolve.tap("router", () => mapping));
    const post = (type: string, body: string) =>
      gateway.send({ target: "/hooks/any", headers: [AUTHORIZED, `Content-Type: ${type}`], body });
    expect((await post("text/plain", "disk full")).status).toBe(202);
    expect((await post("application/x-www-form-urlencoded", "text=disk")).status).toBe(202);
    expect((await post("application/xml", "<a/>")).status).toBe(415);
  });
});

describe("a tap that was registered wrongly", () => {
  it("stops the gateway from starting, and is named", async () => {
    const observer = async (): Promise<void> => {};
    const started = startWith((hooks) => {
      // oxlint-disable-next-line typescript/no-misused-promises -- the mistake that is refused
      hooks.received.tap("careless", observer);
    });
    await expect(started).rejects.toThrow('Hook "received", tap "careless"');
  });
});
