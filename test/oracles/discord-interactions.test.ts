import { createPrivateKey, sign } from "node:crypto";
import { InteractionResponseType, InteractionType, verifyKey } from "discord-interactions";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import { sampleBody } from "../../src/presets/preset.ts";
import { discordEvents } from "../../src/presets/senders/discord/discord-events.ts";
import { discordInteractions } from "../../src/presets/senders/discord/discord-interactions.ts";
import { receivedCall, NOW, readSample, signSample } from "../../src/testing/preset-probe.ts";
import { fixedEd25519 } from "./fixed-keys.ts";
import { recordVectors } from "./record-vectors.ts";

const { publicHex, privatePem } = fixedEd25519("ed25519");
const SIGNATURE = "x-signature-ed25519";
const TIME = "x-signature-timestamp";

const presets = [discordInteractions, discordEvents].map(
  (preset) => [preset.name, preset, recordVectors(preset, "discord-interactions")] as const,
);

describe.each(presets)("%s against discord-interactions", (_, preset, recorder) => {
  const [sample] = Object.values(preset.samples);
  const signed = (): IncomingRequest =>
    receivedCall(signSample(preset, sample!, { key: privatePem, secrets: [publicHex] }));
  const bothSay = (call: IncomingRequest, key = publicHex) =>
    recorder.judge(call, { secrets: [key] }, () =>
      verifyKey(call.body, String(call.headers[SIGNATURE]), String(call.headers[TIME]), key),
    );

  it.each(Object.keys(preset.samples))("both take the sample %s as we sign it", async (name) => {
    const call = receivedCall(signSample(preset, preset.samples[name]!, { key: privatePem, secrets: [publicHex] }));
    expect(await bothSay(call)).toEqual({ we: true, sdk: true });
  });

  it("both take a request that is signed with Node alone", async () => {
    const { body } = sampleBody(sample!);
    const time = String(NOW / 1_000);
    const signature = sign(null, Buffer.concat([Buffer.from(time), body]), createPrivateKey(privatePem)).toString(
      "hex",
    );
    const headers = { "content-type": "application/json", [SIGNATURE]: signature, [TIME]: time };
    const call: IncomingRequest = { ...signed(), body, headers };
    expect(await bothSay(call)).toEqual({ we: true, sdk: true });
  });

  it("both refuse another key", async () => {
    const other = fixedEd25519("another-ed25519").publicHex;
    expect(await bothSay(signed(), other)).toEqual({ we: false, sdk: false });
  });

  it("both refuse a body with one bit flipped", async () => {
    const call = signed();
    const body = Buffer.from(call.body);
    body[5]! ^= 1;
    expect(await bothSay({ ...call, body })).toEqual({ we: false, sdk: false });
  });

  it("both refuse a time that is not the signed one", async () => {
    const call = signed();
    const changed = { ...call, headers: { ...call.headers, [TIME]: String(NOW / 1_000 + 1) } };
    expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
  });

  it.each(["", "00", "zz".repeat(64), "0".repeat(128)])("both refuse the signature %j", async (signature) => {
    const call = signed();
    const changed = { ...call, headers: { ...call.headers, [SIGNATURE]: signature } };
    expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
  });

  it("both refuse a second signature behind the first", async () => {
    const call = signed();
    const signature = String(call.headers[SIGNATURE]);
    const changed = { ...call, headers: { ...call.headers, [SIGNATURE]: signature + signature } };
    expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
  });

  it("we refuse what the SDK takes: a request of an hour ago", async () => {
    const stale = { ...signed(), receivedAt: NOW + 3_600_000 };
    expect(await bothSay(stale)).toEqual({ we: false, sdk: true });
  });
});

describe("the answers of discord-interactions", () => {
  it.each([
    [InteractionType.APPLICATION_COMMAND, InteractionResponseType.CHANNEL_MESSAGE_WITH_SOURCE],
    [InteractionType.MESSAGE_COMPONENT, InteractionResponseType.DEFERRED_UPDATE_MESSAGE],
    [InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE, InteractionResponseType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT],
    [InteractionType.MODAL_SUBMIT, InteractionResponseType.CHANNEL_MESSAGE_WITH_SOURCE],
  ])("have for type %i the response type %i of the SDK", (type, response) => {
    const { answer } = readSample(discordInteractions, { payload: { type } });
    expect(JSON.parse(answer!.body!)).toMatchObject({ type: response });
  });
});
