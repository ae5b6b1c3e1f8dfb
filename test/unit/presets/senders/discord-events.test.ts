import { describe, expect, it } from "vitest";
import { discordEvents } from "../../../../src/presets/senders/discord/discord-events.ts";
import { receivedCall, readSample, signSample } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";
import { ed25519Pair } from "../ed25519-pair.ts";

const sample = (name: string) => readSample(discordEvents, discordEvents.samples[name]!);
const event = (type: string, data: unknown) =>
  readSample(discordEvents, { payload: { type: 1, event: { type, timestamp: "2026-11-20T12:00:00", data } } });

describe("the preset discord-events", () => {
  it.each([
    ["APPLICATION_AUTHORIZED", "APPLICATION_AUTHORIZED:2026-11-20T12:00:00.000000:1000000000000000001", "ada"],
    ["ENTITLEMENT_CREATE", "ENTITLEMENT_CREATE:2026-11-20T12:01:00.000000:1400000000000000001", "1000000000000000001"],
    ["LOBBY_MESSAGE_CREATE", "LOBBY_MESSAGE_CREATE:2026-11-20T12:02:00.000000:1500000000000000001", "grace"],
  ])("knows event, id and sender of the sample %s, and answers 204", (name, id, sender) => {
    expect(sample(name)).toMatchObject({
      event: name,
      deliveryId: id,
      sender: { name: sender, bot: false },
      answer: { status: 204, contentType: "application/json" },
    });
    expect(sample(name).skip).toBeUndefined();
  });

  it("says who authorized the application, and for what", () => {
    expect(sample("APPLICATION_AUTHORIZED").message).toBe(
      "Discord application authorized by Ada Lovelace for the server Analytical Engines\nScopes: applications.commands, bot\nIds: user 1000000000000000001, guild 1100000000000000000",
    );
    expect(event("APPLICATION_DEAUTHORIZED", { user: { id: "1" } }).message).toBe(
      "Discord application deauthorized by 1\nIds: user 1",
    );
  });

  it("says what was bought", () => {
    expect(sample("ENTITLEMENT_CREATE").message).toBe(
      [
        "Discord purchase by 1000000000000000001",
        "SKU: 1400000000000000000",
        "Entitlement: 1400000000000000001",
        "Ends: 2026-12-20T12:00:00.000000",
        "Ids: user 1000000000000000001",
      ].join("\n"),
    );
    expect(event("ENTITLEMENT_DELETE", { id: "1" }).message).toBe("Discord purchase withdrawn\nEntitlement: 1");
  });

  it("renders messages that come, change and go", () => {
    expect(sample("LOBBY_MESSAGE_CREATE").message).toBe(
      "Discord message by Grace Hopper in 1500000000000000000\nReady when you are.\nIds: user 1000000000000000002, lobby 1500000000000000000, message 1500000000000000001",
    );
    expect(event("GAME_DIRECT_MESSAGE_UPDATE", { author: { username: "ada" }, content: "No." }).message).toBe(
      "Discord message edited by ada\nNo.",
    );
    expect(event("LOBBY_MESSAGE_DELETE", { lobby_id: "3" }).message).toBe("Discord message deleted in 3\nIds: lobby 3");
  });

  it("gives events it does not know a generic message", () => {
    expect(event("QUEST_USER_ENROLLMENT", { quest: 7 }).message).toBe("Discord: QUEST_USER_ENROLLMENT\nquest: 7");
    expect(event("constructor", { a: 1 }).message).toBe("Discord: constructor\na: 1");
  });

  it("knows bots", () => {
    const author = { id: "1", username: "helper", bot: true };
    expect(event("LOBBY_MESSAGE_CREATE", { author }).sender).toEqual({ name: "helper", id: "1", bot: true });
  });

  it("has no id for an event without a time", () => {
    expect(
      readSample(discordEvents, { payload: { type: 1, event: { type: "X", data: { id: "1" } } } }).deliveryId,
    ).toBeUndefined();
  });

  it("skips a PING that gets past the handshake", () => {
    expect(readSample(discordEvents, { payload: { type: 0 } }).skip).toBe("Discord checks the URL");
  });
});

describe("the handshake of discord-events", () => {
  const { publicHex, privatePem } = ed25519Pair();
  const ping = { payload: { version: 1, application_id: "2", type: 0 } };

  it("answers a signed PING with an empty 204 that has a type", async () => {
    const call = receivedCall(signSample(discordEvents, ping, { key: privatePem, secrets: [publicHex] }));
    const answered = await answerHandshake(discordEvents, call, { secrets: [publicHex] });
    expect(answered).toMatchObject({
      name: "PING",
      answer: { status: 204, payload: "", headers: { "content-type": "application/json" } },
    });
  });

  it("does not answer one that is not signed", async () => {
    const call = plainCall("POST", "/hooks/discord-events", JSON.stringify(ping.payload), "application/json");
    expect(await answerHandshake(discordEvents, call, { secrets: [publicHex] })).toBeUndefined();
  });
});
