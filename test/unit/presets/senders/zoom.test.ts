import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { zoom } from "../../../../src/presets/senders/zoom.ts";
import { receivedCall, readSample, signSample } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";

const SECRET = "invented-secret-token-1";
const sample = (name: string) => readSample(zoom, zoom.samples[name]!);
const event = (name: string, payload: object) => readSample(zoom, { payload: { event: name, event_ts: 1, payload } });

describe("the preset zoom", () => {
  it.each([
    ["meeting.started", "meeting.started:1795176000123:4444AAAiAAAAAiAiAiiAii==", undefined],
    [
      "meeting.participant_joined",
      "meeting.participant_joined:1795176060123:4444AAAiAAAAAiAiAiiAii==:7C1D3E52-0000-4000-8000-000000000001",
      { name: "ada@example.com", id: "16778240", bot: false },
    ],
    [
      "recording.completed",
      "recording.completed:1795179600123:4444AAAiAAAAAiAiAiiAii==",
      { name: "grace@example.com", bot: false },
    ],
    [
      "bot_notification",
      "bot_notification:1795176120123:x1yCzABCDEfg23HiJKl4mN",
      { name: "Ada Lovelace", id: "x1yCzABCDEfg23HiJKl4mN", bot: false },
    ],
  ])("knows event, id and sender of the sample %s, and answers 204", (name, id, sender) => {
    expect(sample(name)).toMatchObject({ event: name, deliveryId: id, skip: undefined, answer: { status: 204 } });
    expect(sample(name).sender).toEqual(sender);
  });

  it("says which meeting started", () => {
    expect(sample("meeting.started").message).toBe(
      "Zoom meeting Weekly planning started\nMeeting: 95200000001\nStarts: 2026-11-20T12:00:00Z\nMinutes: 60\nIds: uuid 4444AAAiAAAAAiAiAiiAii==, host x1yCzABCDEfg23HiJKl4mN",
    );
    expect(event("webinar.ended", { operator: "ada@example.com", object: { end_time: "later" } }).message).toBe(
      "Zoom webinar ended by ada@example.com\nEnded: later",
    );
  });

  it("says who joined and who left", () => {
    expect(sample("meeting.participant_joined").message).toBe(
      "Ada Lovelace joined the Zoom meeting Weekly planning\nMail: ada@example.com\nAt: 2026-11-20T12:01:00Z\nIds: meeting 95200000001, uuid 4444AAAiAAAAAiAiAiiAii==, participant 16778240",
    );
    expect(event("webinar.participant_left", { object: { participant: { leave_reason: "done" } } }).message).toBe(
      "A participant left the Zoom webinar\nReason: done",
    );
  });

  it("links a recording", () => {
    expect(sample("recording.completed").message).toBe(
      [
        "Zoom recording ready of Weekly planning by grace@example.com",
        "Started: 2026-11-20T12:00:00Z",
        "Minutes: 58",
        "Ids: meeting 95200000001, uuid 4444AAAiAAAAAiAiAiiAii==",
        "https://zoom.example.com/rec/share/example",
      ].join("\n"),
    );
    expect(event("recording.transcript_completed", { object: { topic: "T" } }).message).toBe(
      "Zoom transcript ready of T",
    );
  });

  it("renders chat messages to the app and in channels", () => {
    expect(sample("bot_notification").message).toBe(
      "Zoom chat message by Ada Lovelace in Planning\nwhat did we decide on Monday?\nIds: account AAAAAAexample, to example@conference.xmpp.zoom.us, user x1yCzABCDEfg23HiJKl4mN, robot v1example@xmpp.zoom.us",
    );
    const object = { channel_name: "Ops", message: "It is down.", message_id: "m1" };
    expect(event("chat_message.sent", { operator: "ada@example.com", object })).toMatchObject({
      deliveryId: "chat_message.sent:1:m1",
      message: "Zoom chat message by ada@example.com in Ops\nIt is down.\nIds: message m1",
    });
  });

  it("gives events it does not know a generic message, without tokens for downloads", () => {
    const reading = readSample(zoom, {
      payload: { event: "phone.voicemail_received", download_token: "secret", payload: { object: { caller: "+1" } } },
    });
    expect(reading.message).toBe("Zoom: phone.voicemail_received\ncaller: +1");
    expect(reading.deliveryId).toBeUndefined();
    expect(event("app_deauthorized", { user_id: "u" }).message).toBe("Zoom: app_deauthorized\nuser_id: u");
  });

  it("knows a sender by the id alone", () => {
    expect(event("user.updated", { operator_id: "u1" }).sender).toEqual({ name: "u1", bot: false });
  });

  it("skips a check of the URL that gets past the handshake", () => {
    expect(event("endpoint.url_validation", {}).skip).toBe("Zoom checks the URL");
  });
});

describe("the handshake of zoom", () => {
  const validation = {
    payload: { event: "endpoint.url_validation", event_ts: 1, payload: { plainToken: "qgg8vlvZRS6" } },
  };

  it("answers a signed validation with the token and its HMAC", async () => {
    const call = receivedCall(signSample(zoom, validation, { key: SECRET, secrets: [SECRET] }));
    const answered = await answerHandshake(zoom, call, { secrets: [SECRET] });
    expect(answered).toMatchObject({ name: "endpoint.url_validation", answer: { status: 200 } });
    expect(JSON.parse(answered!.answer.payload)).toEqual({
      plainToken: "qgg8vlvZRS6",
      encryptedToken: createHmac("sha256", SECRET).update("qgg8vlvZRS6").digest("hex"),
    });
  });

  it("signs nothing for a caller without a signature", async () => {
    const call = plainCall("POST", "/hooks/zoom", JSON.stringify(validation.payload), "application/json");
    expect(await answerHandshake(zoom, call, { secrets: [SECRET] })).toBeUndefined();
  });
});
