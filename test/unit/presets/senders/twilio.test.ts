import { describe, expect, it } from "vitest";
import { twilio } from "../../../../src/presets/senders/twilio.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";

const sample = (name: string) => readSample(twilio, twilio.samples[name]!);
const form = (payload: Record<string, string>) => readSample(twilio, { format: "form", payload });
const TWIML = { status: 200, contentType: "text/xml", body: "<Response/>" };

describe("the preset twilio", () => {
  it.each([
    ["message.received", "SM00000000000000000000000000000001:received", "Ada", undefined],
    ["message.undelivered", "SM00000000000000000000000000000002:undelivered", "+15550100001", undefined],
    [
      "message.delivered",
      "SM00000000000000000000000000000003:delivered",
      "+15550100001",
      "an outgoing message is on its way",
    ],
    ["call.ringing", "CA00000000000000000000000000000001:ringing", "ADA LOVELACE", undefined],
    ["call.completed", "CA00000000000000000000000000000002:completed:3", "+15550100001", undefined],
  ])("knows event, id, sender and use of the sample %s, and answers empty TwiML", (name, id, sender, skip) => {
    expect(sample(name)).toMatchObject({ event: name, deliveryId: id, sender: { name: sender, bot: false }, skip });
    expect(sample(name).answer).toEqual(TWIML);
  });

  it("says who sent which message, with what is attached", () => {
    expect(sample("message.received").message).toBe(
      [
        "Message from Ada (+15550100002) to +15550100001",
        "The delivery is at the back door, see the picture.",
        "Attached: image/jpeg https://api.example.com/media/ME00000000000000000000000000000001",
        "Ids: message SM00000000000000000000000000000001, account AC00000000000000000000000000000000",
      ].join("\n"),
    );
  });

  it("says why a message did not arrive", () => {
    expect(sample("message.undelivered").message).toBe(
      "Message to +15550100003 is undelivered\nError: 30003\nMessage: SM00000000000000000000000000000002",
    );
  });

  it("says how a call ended", () => {
    expect(sample("call.completed").message).toBe(
      "Call from +15550100001 to +15550100003 is completed\nDuration in seconds: 73\nCall: CA00000000000000000000000000000002",
    );
  });

  it("skips an outgoing call in progress, and no incoming one", () => {
    expect(form({ CallSid: "CA1", CallStatus: "in-progress", Direction: "outbound-api" }).skip).toBe(
      "an outgoing call is in progress",
    );
    expect(form({ CallSid: "CA1", CallStatus: "in-progress", Direction: "inbound" }).skip).toBeUndefined();
  });

  it.each([
    ["SpeechResult", "yes", "Said: yes"],
    ["Digits", "1", "Pressed: 1"],
  ])("has no id for %s of a caller, which comes several times in a call", (field, value, line) => {
    const said = form({ CallSid: "CA1", CallStatus: "in-progress", [field]: value });
    expect(said.deliveryId).toBeUndefined();
    expect(said.message).toBe(`Call is in-progress\n${line}\nCall: CA1`);
  });

  it("renders a recording with its transcript", () => {
    const recording = form({
      RecordingSid: "RE1",
      CallSid: "CA1",
      RecordingStatus: "completed",
      RecordingDuration: "9",
      RecordingUrl: "https://api.example.com/RE1",
      TranscriptionText: "Call me back.",
    });
    expect(recording).toMatchObject({ event: "recording.completed", deliveryId: "RE1:completed" });
    expect(recording.message).toBe(
      "Recording of a call is completed\nDuration in seconds: 9\nCall me back.\nIds: call CA1, recording RE1\nhttps://api.example.com/RE1",
    );
  });

  it("takes the end of a recorded call for that, and its recording and transcript for two things more", () => {
    const call = { CallSid: "CA1", RecordingSid: "RE1", RecordingUrl: "https://api.example.com/RE1" };
    const ended = form({ ...call, CallStatus: "completed", CallDuration: "73", RecordingDuration: "70" });
    expect(ended).toMatchObject({
      event: "call.completed",
      deliveryId: "CA1:completed",
      message: "Call is completed\nDuration in seconds: 73\nRecording: https://api.example.com/RE1\nCall: CA1",
    });
    const recorded = form({ ...call, RecordingStatus: "completed" });
    const said = form({
      ...call,
      CallStatus: "completed",
      TranscriptionSid: "TR1",
      TranscriptionStatus: "completed",
      TranscriptionText: "Call me back.",
    });
    expect([recorded.event, said.event]).toEqual(["recording.completed", "recording.completed"]);
    expect([recorded.deliveryId, said.deliveryId]).toEqual(["RE1:completed", "TR1:completed"]);
  });

  it("takes a message without a status for one that was received", () => {
    expect(form({ MessageSid: "SM1", From: "+1", Body: "Hi" })).toMatchObject({
      event: "message.received",
      message: "Message from +1\nHi\nIds: message SM1",
    });
  });

  it("gives the rest a generic message", () => {
    expect(form({ RoomSid: "RM1", StatusCallbackEvent: "room-ended" })).toMatchObject({
      event: undefined,
      deliveryId: undefined,
      message: "Twilio sent an event\nRoomSid: RM1\nStatusCallbackEvent: room-ended",
    });
    expect(form({ CallSid: "CA1" }).message).toBe("Call\nCall: CA1");
  });
});
