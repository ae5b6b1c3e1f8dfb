import { createHmac } from "node:crypto";
import { LinearWebhookClient } from "@linear/sdk/webhooks";
import { describe, expect, it } from "vitest";
import type { PresetSample } from "../../src/presets/preset.ts";
import { linear } from "../../src/presets/senders/linear/linear.ts";
import { receivedCall, NOW, signSample } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const SECRET = "lin_wh_invented0000000000000000000000";
const options = { secrets: [SECRET] };
const sdk = new LinearWebhookClient(SECRET);

const recorder = recordVectors(linear, "@linear/sdk");

/** As Linear's documentation has it: the SDK only verifies. */
const signatureOf = (body: Uint8Array) => createHmac("sha256", SECRET).update(body).digest("hex");

const sentAt = ({ payload, ...rest }: PresetSample, webhookTimestamp: unknown): PresetSample => ({
  ...rest,
  payload: { ...(payload as object), webhookTimestamp },
});

/** Whether the SDK and we accept a body with a signature. */
function bothSay(sample: PresetSample, body: Uint8Array, signature = signatureOf(body)) {
  const signed = signSample(linear, sample, { key: SECRET, ...options });
  const call = receivedCall({ ...signed, body, headers: { ...signed.headers, "linear-signature": signature } });
  return recorder.judge(call, options, () => sdk.verify(Buffer.from(body), signature));
}

const bytesOf = (sample: PresetSample) => Buffer.from(JSON.stringify(sample.payload));

describe.each(Object.entries(linear.samples))("%s", (_, sample) => {
  const signed = signSample(linear, sample, { key: SECRET, ...options });

  it("is accepted by both as we sign it", async () => {
    expect(await bothSay(sample, signed.body, signed.headers["linear-signature"])).toEqual({ we: true, sdk: true });
  });

  it("is accepted by both as Linear signs it", async () => {
    expect(await bothSay(sample, bytesOf(sentAt(sample, NOW)))).toEqual({ we: true, sdk: true });
  });

  it("is refused by both with a byte changed", async () => {
    const flipped = Buffer.from(signed.body);
    flipped[20]! ^= 1;
    expect(await bothSay(sample, flipped, signed.headers["linear-signature"])).toEqual({ we: false, sdk: false });
  });

  it("is refused by both with a second signature appended", async () => {
    const signature = signed.headers["linear-signature"]!;
    expect(await bothSay(sample, signed.body, `${signature},${signature}`)).toEqual({ we: false, sdk: false });
    expect(await bothSay(sample, signed.body, signature + signature)).toEqual({ we: false, sdk: false });
  });

  it.each([-60_001, 60_001])("is refused by both when sent %i ms from now", async (ms) => {
    expect(await bothSay(sample, bytesOf(sentAt(sample, NOW + ms)))).toEqual({ we: false, sdk: false });
  });

  it.each([-60_000, 60_000])("is accepted by both when sent %i ms from now", async (ms) => {
    expect(await bothSay(sample, bytesOf(sentAt(sample, NOW + ms)))).toEqual({ we: true, sdk: true });
  });

  it.each([undefined, null, "", "soon", {}])("is refused by both with %j for a time", async (time) => {
    expect(await bothSay(sample, bytesOf(sentAt(sample, time)))).toEqual({ we: false, sdk: false });
  });
});

describe("the time header that Linear no longer uses", () => {
  it("makes up for no time in the body, neither for the SDK nor for us", async () => {
    const sample = sentAt(linear.samples["issue"]!, undefined);
    const headers = { ...sample.headers, "linear-timestamp": String(NOW) };
    expect(await bothSay({ ...sample, headers }, bytesOf(sample))).toEqual({ we: false, sdk: false });
  });
});
