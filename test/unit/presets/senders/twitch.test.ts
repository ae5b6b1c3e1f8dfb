import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { twitch } from "../../../../src/presets/senders/twitch.ts";
import { NOW, readSample, receivedCall, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake } from "../answer-handshake.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const SECRET = "an-invented-secret-of-acme";
const URL = "https://gateway.example.com/hooks/twitch";

describe("the preset twitch", () => {
  itReadsSamples(twitch, {
    "channel.follow": {
      event: "channel.follow",
      deliveryId: "notification-channel.follow-e76c6bd4-55c9-4987-8304-da1588d8988b",
      sender: { name: "Cool_User", id: "1234", bot: false },
      message: [
        "Twitch: channel follow by Cool_User in the channel of Acme_Live",
        "followed_at: 2026-11-20T11:59:58.171063Z",
        "https://www.twitch.tv/acme_live",
        "Ids: subscription f1c2a387-161a-49f9-a165-0f21d7a4e1c4, broadcaster 1337, user 1234",
      ],
    },
    "channel.chat.message": {
      event: "channel.chat.message",
      deliveryId: "notification-channel.chat.message-e76c6bd4-55c9-4987-8304-da1588d8988b",
      sender: { name: "VipTest", id: "4145994", bot: false },
      message: [
        "Twitch: channel chat message by VipTest in the channel of Acme_Live",
        "When is the next stream?",
        "https://www.twitch.tv/acme_live",
        "Ids: subscription f1c2a387-161a-49f9-a165-0f21d7a4e1c4, message cc106a89-1814-919d-454c-f4f2f970aae7, broadcaster 1337, user 4145994",
      ],
    },
    "stream.online": {
      event: "stream.online",
      deliveryId: "notification-stream.online-e76c6bd4-55c9-4987-8304-da1588d8988b",
      sender: { name: "Acme_Live", id: "1337", bot: false },
      message: [
        "Twitch: stream online by Acme_Live",
        "id: 9001",
        "type: live",
        "started_at: 2026-11-20T11:59:50Z",
        "https://www.twitch.tv/acme_live",
        "Ids: subscription f1c2a387-161a-49f9-a165-0f21d7a4e1c4, broadcaster 1337",
      ],
    },
    revocation: {
      event: "revocation",
      deliveryId: "revocation-channel.follow-e76c6bd4-55c9-4987-8304-da1588d8988b",
      message: [
        "Twitch revoked the subscription to channel.follow: authorization revoked",
        "broadcaster_user_id: 1337",
        "Ids: subscription f1c2a387-161a-49f9-a165-0f21d7a4e1c4",
        "No more of these events come until it is made again.",
      ],
    },
  });

  it.each<[string, object, string]>([
    [
      "channel.raid",
      {
        from_broadcaster_user_name: "Raider",
        to_broadcaster_user_name: "Acme_Live",
        to_broadcaster_user_login: "acme_live",
        viewers: 9,
      },
      "Twitch: channel raid by Raider in the channel of Acme_Live",
    ],
    [
      "channel.cheer",
      { user_name: null, is_anonymous: true, broadcaster_user_name: "Acme_Live", message: "Great!", bits: 100 },
      "Twitch: channel cheer in the channel of Acme_Live\nGreat!\nBits: 100",
    ],
    [
      "user.whisper.message",
      { from_user_name: "Ada", from_user_id: "7", to_user_name: "Acme_Live", whisper: { text: "Psst" } },
      "Twitch: user whisper message by Ada\nPsst\nIds: user 7",
    ],
  ])("says what happened in %s", (type, event, message) => {
    const payload = { subscription: { type, status: "enabled" }, event };
    expect(readSample(twitch, { payload }).message).toContain(message);
  });
});

describe("an event of Twitch", () => {
  it("shows every item of a batch", () => {
    const events = ["Ada", "Grace"].map((user_name) => ({ id: user_name, data: { user_name, benefit_id: "b1" } }));
    const payload = { subscription: { type: "drop.entitlement.grant", status: "enabled" }, events };
    expect(readSample(twitch, { payload }).message).toBe(
      [
        "Twitch: drop entitlement grant",
        '{"id":"Ada","data":{"user_name":"Ada","benefit_id":"b1"}}',
        '{"id":"Grace","data":{"user_name":"Grace","benefit_id":"b1"}}',
      ].join("\n"),
    );
  });

  it.each(["is_anonymous", "chatter_is_anonymous"])("has no actor when it says %s", (mark) => {
    const event = { user_name: null, [mark]: true, broadcaster_user_name: "Acme_Live", broadcaster_user_id: "1337" };
    expect(readSample(twitch, { payload: { subscription: { type: "channel.cheer" }, event } }).sender).toBeUndefined();
  });

  it("is the agent's own when the account that reads the chat wrote it, unless the channel's owner may have", () => {
    const senderOf = (chatter: string, reader: string) => {
      const condition = { broadcaster_user_id: "1337", user_id: reader };
      const event = { broadcaster_user_id: "1337", chatter_user_id: chatter, chatter_user_name: "Someone" };
      const payload = { subscription: { type: "channel.chat.message", status: "enabled", condition }, event };
      return readSample(twitch, { payload }).sender;
    };
    expect(senderOf("9001", "9001")).toMatchObject({ id: "9001", bot: true, own: true });
    expect(senderOf("42", "9001")).toEqual({ name: "Someone", id: "42", bot: false });
    expect(senderOf("1337", "1337")).toEqual({ name: "Someone", id: "1337", bot: false });
  });
});

describe("the messages of Twitch", () => {
  const call = (payload: unknown, at = NOW, key = SECRET) => {
    const body = Buffer.from(JSON.stringify(payload));
    const [id, time] = ["e76c6bd4-55c9-4987-8304-da1588d8988b", new Date(at).toISOString().replace("Z", "000123Z")];
    const signature = createHmac("sha256", key)
      .update(id + time)
      .update(body)
      .digest("hex");
    const headers = {
      "content-type": "application/json",
      "twitch-eventsub-message-id": id,
      "twitch-eventsub-message-timestamp": time,
      "twitch-eventsub-message-signature": `sha256=${signature}`,
    };
    return receivedCall({ url: URL, headers, body });
  };
  const options = { secrets: [SECRET] };
  const challenge = {
    challenge: "pogchamp-kappa-360noscope-vohiyo",
    subscription: { id: "1", status: "webhook_callback_verification_pending", type: "channel.follow" },
  };

  it("answers a challenge as text when it is signed, and only then", async () => {
    const answer = await answerHandshake(twitch, call(challenge), options);
    expect(answer!.answer).toMatchObject({ status: 200, payload: challenge.challenge });
    expect(await answerHandshake(twitch, call(challenge, NOW, "another-secret-of-acme"), options)).toBeUndefined();
    const other = { ...challenge, subscription: { ...challenge.subscription, status: "enabled" } };
    expect(await answerHandshake(twitch, call(other), options)).toBeUndefined();
  });

  it("are taken for ten minutes, over id, time and body", async () => {
    const { payload } = twitch.samples["channel.follow"]!;
    const good = call(payload);
    const verify = async (changed: Parameters<typeof verifyCall>[1]) => (await verifyCall(twitch, changed, options)).ok;
    expect(await verify(good)).toBe(true);
    expect(await verify(call(payload, NOW - 599_000))).toBe(true);
    expect(await verify(call(payload, NOW - 601_000))).toBe(false);
    expect(await verify({ ...good, body: Buffer.from("{}") })).toBe(false);
    const headers = { ...good.headers, "twitch-eventsub-message-id": "another" };
    expect(await verify({ ...good, headers })).toBe(false);
  });

  it("are signed as in a published example", async () => {
    const body =
      '{"subscription":{"id":"ae2ff348-e102-16be-a3eb-6830c1bf38d2","status":"enabled","type":"channel.follow","version":"1","condition":{"broadcaster_user_id":"44429626"},"transport":{"method":"webhook","callback":"null"},"created_at":"2021-02-19T23:47:00.7621315Z"},"event":{"user_id":"28408015","user_login":"testFromUser","user_name":"testFromUser","broadcaster_user_id":"44429626","broadcaster_user_login":"44429626","broadcaster_user_name":"testBroadcaster"}}';
    const headers = {
      "content-type": "application/json",
      "twitch-eventsub-message-id": "ae2ff348-e102-16be-a3eb-6830c1bf38d2",
      "twitch-eventsub-message-timestamp": "2021-02-19T23:47:00.8091512Z",
      "twitch-eventsub-message-signature": "sha256=d10f5bd9474b7ac7bd7105eb79c2d52768b4d0cd2a135982c3bf5a1d59a78823",
    };
    const receivedAt = Date.parse("2021-02-19T23:47:01Z");
    const published = receivedCall({ url: URL, headers, body: Buffer.from(body) }, { receivedAt });
    expect(await verifyCall(twitch, published, { secrets: ["secretabcd"] })).toMatchObject({ ok: true });
  });
});
