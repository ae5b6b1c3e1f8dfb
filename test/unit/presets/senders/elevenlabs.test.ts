import { describe, expect, it } from "vitest";
import { elevenlabs } from "../../../../src/presets/senders/elevenlabs.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset elevenlabs", () => {
  itReadsSamples(elevenlabs, {
    post_call_transcription: {
      event: "post_call_transcription",
      deliveryId: "post_call_transcription.conv_01example",
      message: [
        "ElevenLabs: a call of the agent Front desk ended: success",
        "Title: Appointment moved",
        "Summary: Ada moved her appointment to Friday.",
        "With: ada",
        "Length: 42 seconds",
        "agent: Hello, how can I help?",
        "user: I would like to move my appointment to Friday.",
        "Conversation: conv_01example",
      ],
    },
    call_initiation_failure: {
      event: "call_initiation_failure",
      deliveryId: "call_initiation_failure.conv_02example",
      message: [
        "ElevenLabs: a call of the agent agent_01example could not be started: busy",
        "Conversation: conv_02example",
      ],
    },
    post_call_audio: {
      event: "post_call_audio",
      deliveryId: "post_call_audio.conv_01example",
      skip: "a recording is nothing that an agent can read",
      message: ["ElevenLabs: recording of a call of the agent agent_01example", "Conversation: conv_01example"],
    },
  });
});

describe("the identity of a webhook of ElevenLabs", () => {
  it("is none for events that are of no conversation", () => {
    const payload = { type: "voice_removal_notice", data: { voice_id: "v1" } };
    expect(readSample(elevenlabs, { payload })).toMatchObject({
      event: "voice_removal_notice",
      deliveryId: undefined,
      message: "ElevenLabs: voice_removal_notice\nvoice_id: v1",
    });
  });

  it("distinguishes the events of one conversation", () => {
    const idOf = (type: string) =>
      readSample(elevenlabs, { payload: { type, data: { conversation_id: "c" } } }).deliveryId;
    expect([idOf("post_call_transcription"), idOf("post_call_audio")]).toEqual([
      "post_call_transcription.c",
      "post_call_audio.c",
    ]);
  });
});

describe("messages of ElevenLabs", () => {
  it("count the turns of a long call that they leave out", () => {
    const transcript = Array.from({ length: 103 }, (_, turn) => ({ role: "user", message: `turn ${turn}` }));
    const { message } = readSample(elevenlabs, { payload: { type: "post_call_transcription", data: { transcript } } });
    expect(message.split("\n").slice(-2)).toEqual(["user: turn 99", "... and 3 more"]);
  });

  it("name neither agent nor party when the payload has none", () => {
    const payload = { type: "post_call_transcription", data: { transcript: [{ message: "Hello?" }] } };
    expect(readSample(elevenlabs, { payload }).message).toBe("ElevenLabs: a call ended\nsomeone: Hello?");
  });

  it("are named in general words without a type", () => {
    expect(readSample(elevenlabs, { payload: {} }).message).toBe("ElevenLabs: new event");
  });

  it("may be as large as a recording, so that ElevenLabs does not disable the webhook", () => {
    expect(elevenlabs.mapping({}).maxBodyBytes).toBe(33_554_432);
  });
});
