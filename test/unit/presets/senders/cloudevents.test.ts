import { describe, expect, it } from "vitest";
import { compileHandshakes } from "../../../../src/auth/handshake/handshake.ts";
import { NO_KEYS } from "../../../../src/auth/keys/remote-keys.ts";
import type { PresetSample } from "../../../../src/presets/preset.ts";
import { cloudevents } from "../../../../src/presets/senders/cloudevents.ts";
import { NOW, receivedCall, readSample, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const SECRET = "a-bearer-token-that-was-made-up-for-tests";

const reading = (sample: PresetSample) => readSample(cloudevents, sample);

describe("the preset cloudevents", () => {
  itReadsSamples(cloudevents, {
    structured: {
      event: "com.example.order.paid",
      deliveryId: "https://shop.example.com/orders c4a1f1b2-0d0c-4c2b-9c8f-1b7f1f6f2a11",
      answer: {
        status: 202,
      },
      message: [
        "CloudEvent: com.example.order.paid from https://shop.example.com/orders about A-1007",
        "Time: 2026-11-20T11:59:58Z",
        "order: A-1007",
        "total: 42.5",
        "currency: EUR",
        "Id: c4a1f1b2-0d0c-4c2b-9c8f-1b7f1f6f2a11",
      ],
    },
    binary: {
      event: "com.example.sensor.alarm",
      deliveryId: "/sensors/cellar A234-1234-1234",
      sender: {
        name: "sensors@example.com",
        bot: true,
      },
      answer: {
        status: 202,
      },
      message: [
        "CloudEvent: com.example.sensor.alarm from /sensors/cellar",
        "Time: 2026-11-20T11:59:58Z",
        "temperature: 31.5",
        "unit: C",
        "Id: A234-1234-1234",
      ],
    },
    base64: {
      event: "com.example.note",
      deliveryId: "/notes n-17",
      answer: {
        status: 202,
      },
      message: ["CloudEvent: com.example.note from /notes", "The cellar is dry again.", "Id: n-17"],
    },
    batched: {
      event: "com.example.door.opened+com.example.door.closed",
      deliveryId: "sha256-ef158f4b5ee6e22fed7bb90581118bd7565a589058e888b9de7a8e7ee91a2315",
      answer: {
        status: 202,
      },
      message: [
        "CloudEvents: 2 events",
        "com.example.door.opened from /doors/front",
        "com.example.door.closed from /doors/front",
      ],
    },
  });
});

describe("a CloudEvent in binary mode", () => {
  const headers = { "ce-specversion": "1.0", "ce-type": "t", "ce-source": "/s", "ce-id": "1" };

  it("has attributes that are written as in a URL where they are no ASCII", () => {
    const message = reading({ headers: { ...headers, "ce-subject": "caf%C3%A9%20100%25" }, payload: {} }).message;
    expect(message).toBe("CloudEvent: t from /s about café 100%\nId: 1");
  });

  it.each([[["a", "b"]], [[]]])("is one event when its data is a list: %j", (payload) => {
    const { event, deliveryId, skip, message } = reading({ headers, payload });
    expect({ event, deliveryId, skip }).toEqual({ event: "t", deliveryId: "/s 1", skip: undefined });
    expect(message).toBe(["CloudEvent: t from /s", ...payload, "Id: 1"].join("\n"));
  });

  it("has an id of its own however long the ids are that begin like it", () => {
    const idOf = (id: string) => reading({ headers: { ...headers, "ce-id": id }, payload: {} }).deliveryId;
    const long = "x".repeat(300);
    expect(idOf(`${long}1`)).not.toBe(idOf(`${long}2`));
    const inBody = (id: string) => reading({ payload: { specversion: "1.0", type: "t", source: "/s", id } }).deliveryId;
    expect(inBody(`${long}1`)).not.toBe(inBody(`${long}2`));
  });

  it("keeps an attribute that is no valid escape", () => {
    expect(reading({ headers: { ...headers, "ce-subject": "100%" }, payload: {} }).message).toContain("about 100%");
  });

  it("may have text as data", () => {
    const sample: PresetSample = { headers, format: "text", payload: "It rains." };
    expect(reading(sample).message).toBe("CloudEvent: t from /s\nIt rains.\nId: 1");
  });

  it("is of the body, not of the headers, when the content type says so", () => {
    const type = { "content-type": "application/cloudevents+json" };
    const payload = { specversion: "1.0", type: "inner", source: "/i", id: "2" };
    expect(reading({ headers: { ...headers, ...type }, payload })).toMatchObject({
      event: "inner",
      deliveryId: "/i 2",
    });
  });
});

describe("the identity of a CloudEvent", () => {
  it("is none without an id, and not covered by the token", () => {
    expect(reading({ payload: { specversion: "1.0", type: "t", source: "/s" } }).deliveryId).toBeUndefined();
    expect(cloudevents.deliveryIdSigned).toBe(false);
  });

  it("of a batch is the same for the same events only", () => {
    const batch = (...ids: string[]) =>
      reading({ payload: ids.map((id) => ({ specversion: "1.0", type: "t", source: "/s", id })) }).deliveryId;
    expect(batch("1", "2")).toBe(batch("1", "2"));
    expect(batch("1", "2")).not.toBe(batch("2", "1"));
    expect(batch("1", "2")).not.toBe(batch("1 /s 2"));
  });
});

describe("who caused a CloudEvent", () => {
  it.each<[string, boolean]>([
    ["user", false],
    ["app_user", false],
    ["service_account", true],
    ["system", true],
    ["api_key", true],
  ])("is a bot when authtype says so: %s", (authtype, bot) => {
    const payload = { specversion: "1.0", type: "t", source: "/s", id: "1", authtype, authid: "ada" };
    expect(reading({ payload }).sender).toEqual({ name: "ada", bot });
  });
});

describe("data in base64", () => {
  it("is read as JSON, and stays beside data that is there", () => {
    const data_base64 = Buffer.from('{"a":1}').toString("base64");
    expect(cloudevents.unwrap({ data_base64 })).toEqual({ data_base64, data: { a: 1 } });
    expect(cloudevents.unwrap([{ data_base64 }])).toEqual([{ data_base64, data: { a: 1 } }]);
    expect(cloudevents.unwrap({ data_base64, data: "x" })).toEqual({ data_base64, data: "x" });
  });
});

describe("requests that are no CloudEvents", () => {
  it("are shown as they are", () => {
    expect(reading({ payload: { hello: "world" } }).message).toBe("CloudEvent: event\nhello: world");
  });

  it("are skipped when they are empty batches", () => {
    expect(reading({ payload: [] })).toMatchObject({ skip: "it holds no event", message: "CloudEvents: no events" });
  });
});

describe("the bearer token", () => {
  const signed = signSample(cloudevents, cloudevents.samples["structured"]!, { key: SECRET });

  it("lets a request in", async () => {
    expect(signed.headers["authorization"]).toBe(`Bearer ${SECRET}`);
    expect(await verifyCall(cloudevents, receivedCall(signed), { secrets: [SECRET] })).toMatchObject({ ok: true });
  });

  it.each(["Bearer wrong", SECRET, "", `Basic ${SECRET}`])("refuses another one: %j", async (authorization) => {
    const call = receivedCall({ ...signed, headers: { ...signed.headers, authorization } });
    expect(await verifyCall(cloudevents, call, { secrets: [SECRET] })).toMatchObject({ ok: false });
  });
});

describe("the validation request", () => {
  const handshakes = compileHandshakes(cloudevents.handshakes, {
    route: "cloudevents",
    secrets: [SECRET],
    settings: {},
    publicUrl: undefined,
    ...NO_KEYS,
  });

  const answerTo = async (headers: Record<string, string>) =>
    handshakes.unverified({
      method: "OPTIONS",
      target: "/hooks/cloudevents",
      headers,
      body: Buffer.alloc(0),
      receivedAt: NOW,
      pathSecret: undefined,
    });

  it("is granted to the origin that asks", async () => {
    expect([...handshakes.methods]).toEqual(["OPTIONS"]);
    const found = await answerTo({
      "webhook-request-origin": "eventemitter.example.com",
      "webhook-request-rate": "120",
    });
    expect(found?.answer).toMatchObject({
      status: 200,
      headers: {
        allow: "POST",
        "webhook-allowed-origin": "eventemitter.example.com",
        "webhook-allowed-rate": "*",
      },
    });
  });

  it("is none without an origin", async () => {
    expect(await answerTo({})).toBeUndefined();
  });
});
