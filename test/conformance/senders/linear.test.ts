import { createHmac } from "node:crypto";
import { LinearWebhookClient } from "@linear/sdk/webhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PresetSample } from "../../../src/presets/preset.ts";
import { linear } from "../../../src/presets/senders/linear/linear.ts";
import { receivedCall, NOW, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";

const SECRET = "lin_wh_invented0000000000000000000000";
const options = { secrets: [SECRET] };
const sdk = new LinearWebhookClient(SECRET);

// The SDK compares with the clock; nothing else in these tests does.
beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const accepts = (body: Uint8Array, signature: string): boolean => {
  try {
    return sdk.verify(Buffer.from(body), signature);
  } catch {
    return false;
  }
};

/** As Linear's documentation has it: the SDK only verifies. */
const signatureOf = (body: Uint8Array) => createHmac("sha256", SECRET).update(body).digest("hex");

const sentAt = ({ payload, ...rest }: PresetSample, webhookTimestamp: unknown): PresetSample => ({
  ...rest,
  payload: { ...(payload as object), webhookTimestamp },
});

/** Whether the SDK and we accept a body with a signature. */
async function both(sample: PresetSample, body: Uint8Array, signature = signatureOf(body)): Promise<boolean[]> {
  const signed = signSample(linear, sample, { key: SECRET, ...options });
  const call = receivedCall({ ...signed, body, headers: { ...signed.headers, "linear-signature": signature } });
  return [accepts(body, signature), (await verifyCall(linear, call, options)).ok];
}

const bytesOf = (sample: PresetSample) => Buffer.from(JSON.stringify(sample.payload));

describe.each(Object.entries(linear.samples))("%s", (_, sample) => {
  const signed = signSample(linear, sample, { key: SECRET, ...options });

  it("is accepted by both as we sign it", async () => {
    expect(await both(sample, signed.body, signed.headers["linear-signature"])).toEqual([true, true]);
  });

  it("is accepted by both as Linear signs it", async () => {
    expect(await both(sample, bytesOf(sentAt(sample, NOW)))).toEqual([true, true]);
  });

  it("is refused by both with a byte changed", async () => {
    const flipped = Buffer.from(signed.body);
    flipped[20]! ^= 1;
    expect(await both(sample, flipped, signed.headers["linear-signature"])).toEqual([false, false]);
  });

  it("is refused by both with a second signature appended", async () => {
    const signature = signed.headers["linear-signature"]!;
    expect(await both(sample, signed.body, `${signature},${signature}`)).toEqual([false, false]);
    expect(await both(sample, signed.body, signature + signature)).toEqual([false, false]);
  });

  it.each([-60_001, 60_001])("is refused by both when sent %i ms from now", async (ms) => {
    expect(await both(sample, bytesOf(sentAt(sample, NOW + ms)))).toEqual([false, false]);
  });

  it.each([-60_000, 60_000])("is accepted by both when sent %i ms from now", async (ms) => {
    expect(await both(sample, bytesOf(sentAt(sample, NOW + ms)))).toEqual([true, true]);
  });

  it.each([undefined, null, "", "soon", {}])("is refused by both with %j for a time", async (time) => {
    expect(await both(sample, bytesOf(sentAt(sample, time)))).toEqual([false, false]);
  });
});

describe("the time header that Linear no longer uses", () => {
  it("makes up for no time in the body, neither for the SDK nor for us", async () => {
    const sample = sentAt(linear.samples["issue"]!, undefined);
    const headers = { ...sample.headers, "linear-timestamp": String(NOW) };
    expect(await both({ ...sample, headers }, bytesOf(sample))).toEqual([false, false]);
  });
});
