import { describe, expect, it } from "vitest";
import { googlePubsub } from "../../../../src/presets/senders/google/google-pubsub.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const reading = (message: object, more: object = {}) => readSample(googlePubsub, { payload: { message, ...more } });

describe("the preset google-pubsub", () => {
  itReadsSamples(googlePubsub, {
    data: {
      deliveryId: "projects/example-project/subscriptions/orders-push/13254678901234567",
      message: [
        "Pub/Sub: message from orders-push",
        "order: A-1007",
        "status: paid",
        "total: 42.5",
        "region: eu",
        "Message id: 13254678901234567",
      ],
    },
    text: {
      deliveryId: "projects/example-project/subscriptions/exports-push/13254678901234568",
      message: ["Pub/Sub: message from exports-push", "The nightly export is ready.", "Message id: 13254678901234568"],
    },
    storage_object: {
      event: "OBJECT_FINALIZE",
      deliveryId: "projects/example-project/subscriptions/invoices-push/13254678901234569",
      message: [
        "Pub/Sub: OBJECT_FINALIZE from invoices-push",
        "name: 2026/11/invoice 17.pdf",
        "size: 18231",
        "eventType: OBJECT_FINALIZE",
        "bucketId: example-invoices",
        "objectId: 2026/11/invoice 17.pdf",
        "Message id: 13254678901234569",
      ],
    },
    monitoring_incident: {
      event: "incident.open",
      deliveryId: "projects/example-project/subscriptions/alerts-push/13254678901234570",
      message: [
        "Pub/Sub: incident.open from alerts-push",
        "Request latency of checkout is above 500 ms.",
        "Policy: High latency",
        "Resource: checkout",
        "https://console.cloud.google.com/monitoring/alerting/incidents/0.mabc12xyz?project=example-project",
        "Message id: 13254678901234570",
      ],
    },
  });
});

describe("messages of Pub/Sub", () => {
  it("hold text that only looks like JSON as it is", () => {
    const data = Buffer.from("{not json").toString("base64");
    expect(reading({ data }).message).toBe("Pub/Sub: message\n{not json");
  });

  it("show a long text, not its first 1,000 characters", () => {
    const text = `${"a line of the log\n".repeat(150)}the end`;
    expect(reading({ data: Buffer.from(text).toString("base64") }).message).toBe(`Pub/Sub: message\n${text}`);
  });

  it("hold base64 of bytes that are no text as it is", () => {
    const data = Buffer.from([0xff, 0xfe, 0x00]).toString("base64");
    expect(googlePubsub.unwrap({ message: { data } })).toEqual({ message: { data } });
  });

  it.each(["*", "a b", "", "===="])("hold what is no base64 as it is: %j", (data) => {
    expect(googlePubsub.unwrap({ message: { data } })).toEqual({ message: { data } });
  });

  it("lose keys that could pollute a prototype, as every body does", () => {
    const data = Buffer.from('{"__proto__":{"admin":true},"a":1}').toString("base64");
    expect(googlePubsub.unwrap({ message: { data } })).toEqual({ message: { data: { a: 1 } } });
  });

  it("are named by an attribute of a CloudEvent", () => {
    expect(reading({ attributes: { "ce-type": "google.cloud.storage.object.v1.finalized" } }).event).toBe(
      "google.cloud.storage.object.v1.finalized",
    );
  });

  it("differ by their subscription as well", () => {
    const first = reading({ messageId: "1" }, { subscription: "projects/p/subscriptions/a" });
    const second = reading({ messageId: "1" }, { subscription: "projects/p/subscriptions/b" });
    expect([first.deliveryId, second.deliveryId]).toEqual([
      "projects/p/subscriptions/a/1",
      "projects/p/subscriptions/b/1",
    ]);
    expect(reading({}).deliveryId).toBeUndefined();
  });

  it("carry an id that the token does not cover", () => {
    expect(googlePubsub.deliveryIdSigned).toBe(false);
  });
});

describe("the auth of Pub/Sub", () => {
  it("takes tokens of Google for the audience and the service account that are set", () => {
    const settings = {
      audience: "https://gateway.example.com/hooks/google-pubsub",
      serviceAccount: "push@p.example.com",
    };
    expect(googlePubsub.auth(settings)).toEqual({
      scheme: "jwt",
      from: "header:authorization",
      prefix: "Bearer ",
      jwksUrl: "https://www.googleapis.com/oauth2/v3/certs",
      issuer: ["https://accounts.google.com", "accounts.google.com"],
      audience: settings.audience,
      claims: { email: settings.serviceAccount, email_verified: true },
    });
  });

  it("takes no token at all without them", () => {
    expect(googlePubsub.auth({})).toMatchObject({ audience: "", claims: { email: "" } });
    expect(googlePubsub.settings).toMatchObject({ required: ["audience", "serviceAccount"] });
  });
});
