import { createPrivateKey, sign } from "node:crypto";
import { InteractionResponseType, InteractionType, verifyKey } from "discord-interactions";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../../src/auth/verifier.ts";
import { sampleBody } from "../../../src/presets/preset.ts";
import { discordEvents } from "../../../src/presets/senders/discord/discord-events.ts";
import { discordInteractions } from "../../../src/presets/senders/discord/discord-interactions.ts";
import { receivedCall, NOW, readSample, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";
import { ed25519Pair } from "../../unit/presets/ed25519-pair.ts";

const { publicHex, privatePem } = ed25519Pair();
const SIGNATURE = "x-signature-ed25519";
const TIME = "x-signature-timestamp";

const sdkAccepts = ({ body, headers }: IncomingRequest, key = publicHex) =>
  verifyKey(body, String(headers[SIGNATURE]), String(headers[TIME]), key);

describe.each([
  ["discord-interactions", discordInteractions],
  ["discord-events", discordEvents],
])("%s against discord-interactions", (_, preset) => {
  const [sample] = Object.values(preset.samples);
  const signed = (): IncomingRequest =>
    receivedCall(signSample(preset, sample!, { key: privatePem, secrets: [publicHex] }));
  const weAccept = async (call: IncomingRequest, key = publicHex) =>
    (await verifyCall(preset, call, { secrets: [key] })).ok;

  it.each(Object.keys(preset.samples))("both take the sample %s as we sign it", async (name) => {
    const call = receivedCall(signSample(preset, preset.samples[name]!, { key: privatePem, secrets: [publicHex] }));
    expect([await weAccept(call), await sdkAccepts(call)]).toEqual([true, true]);
  });

  it("both take a request that is signed with Node alone", async () => {
    const { body } = sampleBody(sample!);
    const time = String(NOW / 1_000);
    const signature = sign(null, Buffer.concat([Buffer.from(time), body]), createPrivateKey(privatePem)).toString(
      "hex",
    );
    const headers = { "content-type": "application/json", [SIGNATURE]: signature, [TIME]: time };
    const call: IncomingRequest = { ...signed(), body, headers };
    expect([await weAccept(call), await sdkAccepts(call)]).toEqual([true, true]);
  });

  it("both refuse another key", async () => {
    const other = ed25519Pair().publicHex;
    expect([await weAccept(signed(), other), await sdkAccepts(signed(), other)]).toEqual([false, false]);
  });

  it("both refuse a body with one bit flipped", async () => {
    const call = signed();
    const body = Buffer.from(call.body);
    body[5]! ^= 1;
    expect([await weAccept({ ...call, body }), await sdkAccepts({ ...call, body })]).toEqual([false, false]);
  });

  it("both refuse a time that is not the signed one", async () => {
    const call = signed();
    const changed = { ...call, headers: { ...call.headers, [TIME]: String(NOW / 1_000 + 1) } };
    expect([await weAccept(changed), await sdkAccepts(changed)]).toEqual([false, false]);
  });

  it.each(["", "00", "zz".repeat(64), "0".repeat(128)])("both refuse the signature %j", async (signature) => {
    const call = signed();
    const changed = { ...call, headers: { ...call.headers, [SIGNATURE]: signature } };
    expect([await weAccept(changed), await sdkAccepts(changed)]).toEqual([false, false]);
  });

  it("both refuse a second signature behind the first", async () => {
    const call = signed();
    const signature = String(call.headers[SIGNATURE]);
    const changed = { ...call, headers: { ...call.headers, [SIGNATURE]: signature + signature } };
    expect([await weAccept(changed), await sdkAccepts(changed)]).toEqual([false, false]);
  });

  it("we refuse what the SDK takes: a request of an hour ago", async () => {
    const stale = { ...signed(), receivedAt: NOW + 3_600_000 };
    expect([await weAccept(stale), await sdkAccepts(stale)]).toEqual([false, true]);
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
