import { expect, it } from "vitest";
import type { Verification } from "../auth/verifier.ts";
import type { SignedRequest } from "../auth/signatures/sign-request.ts";
import { signsBody } from "../config/auth/content.ts";
import type { PresetSettings } from "../config/preset.ts";
import type { Preset, PresetSample } from "../presets/preset.ts";
import { sampleBody } from "../presets/preset.ts";
import { makePresetKeys } from "./preset-probe.ts";
import type { PresetKeys } from "./preset-probe.ts";
import { authOf, receivedCall, NOW, PUBLIC_URL, signSample, verifyCall } from "./preset-probe.ts";

const WEEK_MS = 7 * 86_400_000;

/** Tests that its route accepts its sender and no other. */
export function describeSigning(preset: Preset, settings: PresetSettings): void {
  const keys = makePresetKeys(preset.auth(settings));
  const auth = authOf(preset, { settings, secrets: keys?.secrets ?? [] });
  if (auth === undefined) {
    it("takes the hook token", () => {
      expect(preset.secret).toBeUndefined();
    });
    return;
  }
  it("accepts no request that its sender did not sign", async () => {
    for (const sample of Object.values(preset.samples)) {
      const { body, contentType } = sampleBody(sample);
      const bare: SignedRequest = {
        url: `${PUBLIC_URL}/hooks/${preset.name}`,
        headers: { ...sample.headers, "content-type": contentType },
        body,
      };
      const verification = await verifyCall(preset, receivedCall(bare), { settings, secrets: keys?.secrets ?? [] });
      expect(verification.ok).toBe(false);
    }
  });
  if (keys === undefined) return;
  const isToken = auth.scheme === "jwt" && "secrets" in auth;
  const isSigned = auth.scheme === "signature" || isToken;
  const coversBody = isToken ? auth.bodyDigest !== undefined : auth.scheme === "signature" && signsBody(auth);
  const inPath = auth.scheme === "secret" && auth.from.includes("path");
  describeKeys(preset, { settings, keys, isSigned, coversBody, inPath });
}

interface Signing {
  readonly settings: PresetSettings;
  readonly keys: PresetKeys;
  readonly isSigned: boolean;
  /** False for a sender that signs a time and a token only, such as Mailgun. */
  readonly coversBody: boolean;
  /** True when the secret is the last segment of the path. */
  readonly inPath: boolean;
}

function describeKeys(preset: Preset, { settings, keys, isSigned, coversBody, inPath }: Signing): void {
  const sign = (sample: PresetSample, changes: { now?: number; id?: string; key?: string } = {}) =>
    signSample(preset, sample, { settings, secrets: keys.secrets, key: keys.key, ...changes });
  const verify = (signed: SignedRequest, changes: Parameters<typeof receivedCall>[1] = {}): Promise<Verification> => {
    const pathSecret = inPath ? decodeURIComponent(new URL(signed.url).pathname.split("/").at(-1)!) : undefined;
    return verifyCall(preset, receivedCall(signed, { pathSecret, ...changes }), { settings, secrets: keys.secrets });
  };
  const samples = Object.entries(preset.samples);

  for (const [name, sample] of samples) {
    it(`verifies the sample ${name} as its sender signs it`, async () => {
      expect(await verify(sign(sample))).toMatchObject({ ok: true });
    });
  }

  it("refuses what was signed with another key", async () => {
    const other = makePresetKeys(preset.auth(settings));
    for (const [, sample] of samples) {
      expect(await verify(sign(sample, { key: other?.key ?? "" }))).toMatchObject({ ok: false });
    }
  });

  if (!isSigned) return;
  const [, sample] = samples[0]!;
  const { timestamp } = preset.auth(settings);

  if (coversBody) {
    it("refuses a body of which a single bit was changed", async () => {
      const signed = sign(sample);
      for (const at of [0, Math.floor(signed.body.length / 2), signed.body.length - 1]) {
        const body = Uint8Array.from(signed.body);
        body[at]! ^= 1;
        expect(await verify({ ...signed, body })).toMatchObject({ ok: false });
      }
    });
  }

  if (timestamp !== undefined) {
    it("refuses what was signed a week ago, or will be in a week", async () => {
      const signed = sign(sample);
      expect(await verify(signed, { receivedAt: NOW + WEEK_MS })).toMatchObject({ ok: false });
      expect(await verify(signed, { receivedAt: NOW - WEEK_MS })).toMatchObject({ ok: false });
    });
  }

  it("recognizes a second copy, whatever unsigned headers come with it", async () => {
    const signed = sign(sample);
    const first = await verify(signed);
    const copy = await verify({ ...signed, headers: { ...signed.headers, "x-request-id": "another" } });
    const digests = [first, copy].map((each) =>
      each.ok ? Buffer.from(each.replay?.digest ?? []).toString("hex") : "",
    );
    expect(digests[0]).toBe(digests[1]);
    if (preset.auth(settings).replaySeconds !== 0) expect(digests[0]).toHaveLength(64);
  });
}
