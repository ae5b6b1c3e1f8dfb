import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { baseConfig, GatewayFixture, hookToken } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { OtlpCollector, type ReceivedSpan } from "../../fixtures/otlp-collector.ts";
import type { LogLine } from "../../unit/hosts/embedded/server/recording-logger.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const CALLER = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
let collector: OtlpCollector;
let model: ModelEndpoint;
let spans: OtlpCollector["spans"];
let url: string;

beforeAll(async () => {
  collector = await OtlpCollector.listen();
  ({ spans, url } = collector);
  model = await ModelEndpoint.listen();
  model.usage = { prompt_tokens: 12, completion_tokens: 3 };
});
afterAll(() => {
  collector.close();
  model.close();
});

const build = { id: "build", match: { path: "build" }, messageTemplate: "{{branch}}", deliver: false };

/** Calls a hook of a gateway that then stops; resolves with what it logged. */
async function called(
  telemetry: object,
  headers: Record<string, string>,
  { channels = {}, reply = {} }: { channels?: object; reply?: object } = {},
): Promise<readonly LogLine[]> {
  const fixture = new GatewayFixture({
    ...baseConfig,
    agents: { defaults: { heartbeat: { every: "0m" }, model: "test/model" } },
    models: { providers: { test: { baseUrl: model.baseUrl } } },
    telemetry,
    channels,
    hooks: { ...baseConfig.hooks, mappings: [{ ...build, wakeMode: "next-heartbeat", ...reply }] },
  });
  try {
    const gateway = await fixture.start();
    const asked = model.requests.length;
    const response = await fetch(`${gateway.url}/hooks/build`, {
      method: "POST",
      headers: { authorization: `Bearer ${hookToken}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ branch: "secret-branch" }),
    });
    expect(response.status).toBe(202);
    await vi.waitFor(() => expect(model.requests.length).toBe(asked + 1), 15_000);
    // A stop lets the run end and sends what is left.
    await gateway.stop();
    return fixture.logger.lines;
  } finally {
    await fixture.remove();
  }
}

function attributesOf({ attributes }: ReceivedSpan): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

describe("traces", () => {
  it("continue the caller's: the call, its run and the attempt, each below the one before", async () => {
    await called({ otlp: { url, headers: { "x-key": "key-of-the-collector" } } }, { traceparent: TRACEPARENT });
    const [call, run, attempt] = ["POST build", "run build", "invoke_agent main"].map((name) =>
      spans.find((span) => span.name === name),
    );
    expect([call, run, attempt].map((span) => span?.traceId)).toEqual([CALLER.traceId, CALLER.traceId, CALLER.traceId]);
    expect(call?.parentSpanId).toBe(CALLER.spanId);
    expect(run?.parentSpanId).toBe(call?.spanId);
    expect(attempt?.parentSpanId).toBe(run?.spanId);
    expect(call?.kind).toBe(2);
    expect(BigInt(run!.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(run!.startTimeUnixNano));
    expect(attributesOf(call!)).toMatchObject({ "http.route": "build", "reveille.mapping.id": "build" });
    expect(attributesOf(attempt!)).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.request.model": "test/model",
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 3,
    });
    const chat = spans.find(({ name }) => name === "chat test/model");
    expect(chat?.parentSpanId).toBe(attempt?.spanId);
    expect(attributesOf(chat!)).toMatchObject({ "gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 3 });
    const summary = spans.find(({ name }) => name === "summary");
    expect(summary?.parentSpanId).toBe(run?.spanId);
    expect(summary?.startTimeUnixNano).toBe(attempt?.endTimeUnixNano);
    expect(collector.keys).toContain("key-of-the-collector");
    expect(JSON.stringify(spans)).not.toContain("secret-branch");
  });

  it("give a call without a trace one of its own, and a malformed one counts as none", async () => {
    for (const headers of [{}, { traceparent: "00-not-a-trace-01" }] as Record<string, string>[]) {
      spans.length = 0;
      await called({ otlp: { url } }, headers);
      expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
      const call = spans.find(({ name }) => name === "POST build");
      expect(call?.traceId).toMatch(/^[0-9a-f]{32}$/u);
      expect(call?.traceId).not.toBe(CALLER.traceId);
      expect(call?.parentSpanId ?? "").toBe("");
    }
  });

  it("are none for the share that is left out, and a collector that is gone stops nothing", async () => {
    spans.length = 0;
    await called({ otlp: { url, ratio: 0 } }, {});
    expect(spans).toEqual([]);
    await called({ otlp: { url: "http://127.0.0.1:9" } }, {});
  });

  it("are given up when the gateway stops and the collector does not answer", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    try {
      const { port } = silent.address() as AddressInfo;
      const lines = await called({ otlp: { url: `http://127.0.0.1:${port}` } }, {});
      const warnings = lines.filter(({ level }) => level === "warn").map(({ message }) => message);
      expect(warnings).toEqual(["the last spans could not be sent in time"]);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  it("are passed on to the channel webhook with the reply", async () => {
    const headers: (string | undefined)[] = [];
    const receiver = createServer((req, res) => {
      headers.push(req.headers["traceparent"]?.toString());
      res.writeHead(204).end();
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const webhook = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, secret, to: "owner" };
    try {
      spans.length = 0;
      await called(
        { otlp: { url } },
        { traceparent: TRACEPARENT },
        { channels: { webhook }, reply: { deliver: true, channel: "webhook" } },
      );
      expect(headers).toEqual([TRACEPARENT]);
      const reply = spans.find(({ name }) => name === "reply");
      expect(attributesOf(reply!)).toEqual({
        "reveille.reply.outcome": "sent",
        "reveille.reply.channel": "webhook",
      });
    } finally {
      receiver.close();
    }
  });

  it("are passed on to the model as the caller sent them, also without a collector", async () => {
    await called({}, { traceparent: TRACEPARENT });
    expect(model.requests.at(-1)?.traceparent).toBe(TRACEPARENT);
    await called({}, { traceparent: "00-zz" });
    expect(model.requests.at(-1)?.traceparent).toBeUndefined();
  });
});
