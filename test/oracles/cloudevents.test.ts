import { CloudEvent, HTTP, Mode, emitterFor } from "cloudevents";
import type { Message } from "cloudevents";
import { describe, expect, it } from "vitest";
import { parsePayload } from "../../src/http/parse-payload.ts";
import { sampleBody } from "../../src/presets/preset.ts";
import { cloudevents } from "../../src/presets/senders/cloudevents.ts";
import { NOW, PUBLIC_URL, receivedCall } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const EVENT = {
  id: "c4a1f1b2-0d0c-4c2b-9c8f-1b7f1f6f2a11",
  type: "com.example.order.paid",
  source: "https://shop.example.com/orders",
  subject: "A-1007",
  time: "2026-11-20T11:59:58.000Z",
};

const recorder = recordVectors(cloudevents, "cloudevents");

/** A request that the SDK made, and what the SDK itself reads of it. */
function keep(message: Message): void {
  const { headers, body } = requestOf(message);
  const event = HTTP.toEvent<unknown>(message) as CloudEvent<unknown>;
  const reads = { event: event.type, deliveryId: `${event.source} ${event.id}` };
  recorder.keep(receivedCall({ url: `${PUBLIC_URL}/hooks/cloudevents`, headers, body }), {}, { reads });
}

function requestOf({ headers, body }: Message) {
  const text = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
  return { headers: lower, body: Buffer.from(text) };
}

/** What the preset reads of a request that the SDK made. */
function read(message: Message) {
  const { headers: lower, body } = requestOf(message);
  const parsed = parsePayload(body, lower["content-type"], { accept: ["json", "text"] });
  if (!parsed.ok) throw new Error(parsed.detail);
  const context = {
    path: "cloudevents",
    headers: lower,
    query: {},
    payload: cloudevents.unwrap(parsed.payload),
    now: new Date(NOW),
    settings: {},
  };
  const event = cloudevents.eventOf(context);
  return { event, id: cloudevents.deliveryIdOf(context), message: cloudevents.message({ ...context, event }) };
}

/** What the SDK's emitter would send. */
async function emitted(event: CloudEvent<unknown>, mode: Mode): Promise<Message> {
  const sent: Message[] = [];
  const emit = emitterFor(async (message) => sent.push(message), { binding: HTTP, mode });
  await emit(event);
  keep({ ...sent[0]!, body: sent[0]!.body ?? "" });
  return sent[0]!;
}

const modes = [Mode.BINARY, Mode.STRUCTURED] as const;

describe("requests that the SDK of CloudEvents makes", () => {
  it.each(modes)("are read in %s mode", async (mode) => {
    const event = new CloudEvent({ ...EVENT, data: { order: "A-1007", total: 42.5 } });
    expect(read(await emitted(event, mode))).toEqual({
      event: EVENT.type,
      id: `${EVENT.source} ${EVENT.id}`,
      message: [
        `CloudEvent: ${EVENT.type} from ${EVENT.source} about A-1007`,
        `Time: ${EVENT.time}`,
        "order: A-1007",
        "total: 42.5",
        `Id: ${EVENT.id}`,
      ].join("\n"),
    });
  });

  it.each(modes)("may hold text in %s mode", async (mode) => {
    const event = new CloudEvent({ ...EVENT, datacontenttype: "text/plain", data: "It rains." });
    expect(read(await emitted(event, mode)).message.split("\n")).toContain("It rains.");
  });

  it("may hold bytes in structured mode", async () => {
    const data = Uint8Array.from(Buffer.from("It rains."));
    const event = new CloudEvent({ ...EVENT, datacontenttype: "application/octet-stream", data });
    const message = await emitted(event, Mode.STRUCTURED);
    expect(JSON.parse(String(message.body))).toHaveProperty("data_base64");
    expect(read(message).message.split("\n")).toContain("It rains.");
  });

  it.each(modes)("may have no data in %s mode", async (mode) => {
    const message = await emitted(new CloudEvent(EVENT), mode);
    expect(read({ ...message, body: message.body ?? "" })).toMatchObject({ event: EVENT.type });
  });
});

describe("the samples", () => {
  it.each(["structured", "binary", "base64"])("are CloudEvents to the SDK: %s", (name) => {
    const sample = cloudevents.samples[name]!;
    const { body, contentType } = sampleBody(sample);
    const headers = { "content-type": contentType, ...sample.headers };
    const event = HTTP.toEvent<unknown>({ headers, body: Buffer.from(body).toString() }) as CloudEvent<unknown>;
    expect(event.validate()).toBe(true);
    const { event: type, id } = read({ headers, body: Buffer.from(body).toString() });
    expect({ type, id }).toEqual({ type: event.type, id: `${event.source} ${event.id}` });
    keep({ headers, body: Buffer.from(body).toString() });
  });

  it("are a batch to the SDK: batched", () => {
    const sample = cloudevents.samples["batched"]!;
    const events = HTTP.toEvent<unknown>({
      headers: { ...sample.headers },
      body: Buffer.from(sampleBody(sample).body).toString(),
    }) as CloudEvent<unknown>[];
    expect(events.map(({ type }) => type)).toEqual(["com.example.door.opened", "com.example.door.closed"]);
  });
});
