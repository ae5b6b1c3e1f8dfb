import { describe, expect, it } from "vitest";
import type { Preset } from "../../../src/presets/preset.ts";
import { elevenlabs } from "../../../src/presets/senders/elevenlabs.ts";
import { zoom } from "../../../src/presets/senders/zoom.ts";
import { NOW, receivedCall, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";

const SECRET = "an-invented-secret-of-some-length";
const options = { secrets: [SECRET], key: SECRET };

/** The verdict on the first sample, signed now and received so many seconds later. */
const after = (preset: Preset, seconds: number) => {
  const [sample] = Object.values(preset.samples);
  const call = receivedCall(signSample(preset, sample!, options), { receivedAt: NOW + seconds * 1_000 });
  return verifyCall(preset, call, options);
};

describe("a retry with the time of the first try", () => {
  it.each<[Preset, number]>([
    // 5, 20 and 60 minutes after one another: developers.zoom.us/blog/webhook-delays.
    [zoom, 85 * 60],
    // 30 seconds, 2, 8 and 30 minutes after one another: elevenlabs.io/docs/eleven-api/resources/webhooks.
    [elevenlabs, 40 * 60 + 30],
  ])("is accepted, and remembered as long as a copy of it would be: $name", async (preset, seconds) => {
    const verdict = await after(preset, seconds);
    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.ok && verdict.replay?.expiresAt).toBeGreaterThan(NOW + seconds * 1_000);
    expect(await after(preset, 7_200)).toMatchObject({ ok: false });
    expect(await after(preset, -301)).toMatchObject({ ok: false });
  });
});
