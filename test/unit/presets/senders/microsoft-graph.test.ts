import { describe, expect, it } from "vitest";
import type { HandshakeAnswer } from "../../../../src/auth/handshake/handshake.ts";
import { compileHandshakes } from "../../../../src/auth/handshake/handshake.ts";
import { NO_KEYS } from "../../../../src/auth/keys/remote-keys.ts";
import type { IncomingRequest } from "../../../../src/auth/verifier.ts";
import { microsoftGraph } from "../../../../src/presets/senders/microsoft-graph.ts";
import { NOW, receivedCall, readSample, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const SECRET = "a-client-state-that-was-made-up-for-tests";
const [SAMPLE] = Object.values(microsoftGraph.samples);

const reading = (...value: unknown[]) => readSample(microsoftGraph, { payload: { value } });

describe("the preset microsoft-graph", () => {
  itReadsSamples(microsoftGraph, {
    "message.created": {
      event: "message.created",
      deliveryId: "lsgTZMr9KwAAA",
      answer: {
        status: 202,
      },
      message: [
        "Microsoft Graph: message created",
        "Resource: Users/4c1f0d7e-0a44-4f0e-8f4f-9a1d5f8e2b61/Messages/AAMkAGUwNjQ4ZjIx",
        "Subscription: 7f1c5a30-1f5e-4a56-9f0e-3d1c2b7a9e10",
        "Expires: 2026-11-27T11:00:00.0000000Z",
      ],
    },
    two_changes: {
      event: "event.created+event.updated",
      deliveryId: "sha256-e69f95c9777ae71e935793de70333b408b710eaaaa3aa0702dab6e919c491df4",
      answer: {
        status: 202,
      },
      message: [
        "Microsoft Graph: 2 changes",
        "event created: Users/4c1f0d7e-0a44-4f0e-8f4f-9a1d5f8e2b61/Events/AAMk-created",
        "event updated: Users/4c1f0d7e-0a44-4f0e-8f4f-9a1d5f8e2b61/Events/AAMk-updated",
      ],
    },
    "lifecycle.reauthorizationRequired": {
      event: "lifecycle.reauthorizationRequired",
      answer: {
        status: 202,
      },
      message: [
        "Microsoft Graph: the subscription needs attention, reauthorizationRequired",
        "Renew the subscription (PATCH /subscriptions/{id}) or reauthorize it soon, or it ends.",
        "Subscription: 7f1c5a30-1f5e-4a56-9f0e-3d1c2b7a9e10",
        "Expires: 2026-11-20T13:00:00.0000000Z",
      ],
    },
  });
});

describe("the identity of a notification", () => {
  it("is its own id", () => {
    expect(reading({ id: "n1", changeType: "updated" }).deliveryId).toBe("n1");
  });

  it("is subscription, change, resource and version when it has no id", () => {
    const change = {
      subscriptionId: "s",
      changeType: "updated",
      resource: "me/messages/1",
      resourceData: { "@odata.etag": "W/1" },
    };
    expect(reading(change).deliveryId).toBe("s updated me/messages/1 W/1");
    expect(reading({ ...change, resourceData: { "@odata.etag": "W/2" } }).deliveryId).toBe(
      "s updated me/messages/1 W/2",
    );
  });

  it("is none when nothing distinguishes it from the next change of the same resource", () => {
    expect(reading({ subscriptionId: "s", changeType: "updated", resource: "me" }).deliveryId).toBeUndefined();
    expect(reading({ id: "n1" }, { changeType: "updated" }).deliveryId).toBeUndefined();
  });

  it("is not signed: the requests carry a secret and no signature", () => {
    expect(microsoftGraph.deliveryIdSigned).toBe(false);
  });
});

describe("messages of Microsoft Graph", () => {
  it("name a resource without a type", () => {
    expect(reading({ changeType: "deleted", resource: "me/events/1" }).message).toBe(
      "Microsoft Graph: resource deleted\nResource: me/events/1",
    );
  });

  it("say so when there is no change", () => {
    expect(reading()).toMatchObject({ event: undefined, message: "Microsoft Graph: a notification without changes" });
  });

  it("know lifecycle events without a hint", () => {
    expect(reading({ lifecycleEvent: "toString" })).toMatchObject({
      event: "lifecycle.toString",
      message: "Microsoft Graph: the subscription needs attention, toString",
    });
  });
});

describe("the clientState", () => {
  const signed = signSample(microsoftGraph, SAMPLE!, { key: SECRET });

  it("is what lets a notification in", async () => {
    expect(await verifyCall(microsoftGraph, receivedCall(signed), { secrets: [SECRET] })).toMatchObject({ ok: true });
    expect(await verifyCall(microsoftGraph, receivedCall(signed), { secrets: ["another-client-state"] })).toMatchObject(
      {
        ok: false,
      },
    );
  });

  it.each<[string, unknown]>([
    ["of one of several notifications is wrong", [{ clientState: SECRET }, { clientState: "guess" }]],
    ["of one of several notifications is missing", [{ clientState: SECRET }, { changeType: "created" }]],
    ["is there, but not in a list", { clientState: SECRET }],
    ["has nothing to stand in", []],
    ["is a list", [{ clientState: [SECRET] }]],
  ])("refuses the request when it %s", async (_, value) => {
    const body = Buffer.from(JSON.stringify({ value }));
    const call = receivedCall({ ...signed, body });
    expect(await verifyCall(microsoftGraph, call, { secrets: [SECRET] })).toMatchObject({ ok: false });
  });
});

describe("the validation of a new subscription", () => {
  const handshakes = compileHandshakes(microsoftGraph.handshakes, {
    route: "microsoft-graph",
    secrets: [SECRET],
    settings: {},
    publicUrl: undefined,
    ...NO_KEYS,
  });

  const answerTo = async (changes: Partial<IncomingRequest>): Promise<HandshakeAnswer | undefined> =>
    handshakes.unverified({
      method: "POST",
      target: "/hooks/microsoft-graph?validationToken=Validation%3A+Testing%20client",
      headers: { "content-type": "text/plain; charset=utf-8" },
      body: Buffer.alloc(0),
      receivedAt: NOW,
      pathSecret: undefined,
      ...changes,
    });

  it.each(["POST", "GET"])("is answered with the decoded token as plain text: %s", async (method) => {
    const { answer } = (await answerTo({ method }))!;
    expect(answer).toMatchObject({ status: 200, payload: "Validation: Testing client" });
    expect(answer.headers["content-type"]).toMatch(/^text\/plain/);
  });

  it.each<[string, Partial<IncomingRequest>]>([
    ["a body comes with it", { body: Buffer.from('{"value":[]}') }],
    ["the token is missing", { target: "/hooks/microsoft-graph" }],
    ["the token is empty", { target: "/hooks/microsoft-graph?validationToken=" }],
    ["a GET asks for more", { method: "GET", target: "/hooks/microsoft-graph?validationToken=a&b=c" }],
  ])("is none when %s", async (_, changes) => {
    expect(await answerTo(changes)).toBeUndefined();
  });
});
