import { OAuth2Client } from "google-auth-library";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import type { FetchedAnswer } from "../../src/http/guarded-fetch.ts";
import { createRemoteKeys } from "../../src/auth/keys/remote-keys.ts";
import type { Preset } from "../../src/presets/preset.ts";
import { receivedCall, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { keepingLogger } from "../unit/auth/keys/key-server.ts";
import { keySet, signToken } from "../unit/auth/keys/make-token.ts";
import type { ProviderKey } from "../unit/auth/keys/make-token.ts";
import { fixedProviderKey, publicPem } from "./fixed-keys.ts";
import { recordVectors } from "./record-vectors.ts";
import { PATIENT_BOUNDS } from "../unit/auth/keys/patient-bounds.ts";

type Claims = NonNullable<Parameters<typeof signToken>[1]["claims"]>;

const CERTS = "https://www.googleapis.com/oauth2/v3/certs";

/** Holds a preset of a Pub/Sub push subscription against Google's own library for tokens. */
export function describeGooglePush(preset: Preset): void {
  const audience = `https://gateway.example.com/hooks/${preset.name}`;
  const serviceAccount = "reveille-push@example-project.iam.gserviceaccount.com";
  const settings = { audience, serviceAccount };
  const claims = { iss: "https://accounts.google.com", aud: audience, email: serviceAccount, email_verified: true };

  let key: ProviderKey;
  let certificates: Record<string, string>;

  beforeAll(async () => {
    key = await fixedProviderKey("b3319a147514df7ee5e4bcdee51350cc890cc89e");
    certificates = { [key.kid]: publicPem() };
  });

  const keysAt = (url: string) => (url === CERTS ? JSON.stringify(keySet(key)) : undefined);
  const recorder = recordVectors(preset, "google-auth-library", { fetch: keysAt });

  /** The keys as Google publishes them, and nothing else. */
  async function verify(token: string, body?: Uint8Array) {
    const fetch = (url: string): Promise<FetchedAnswer> =>
      Promise.resolve({
        status: keysAt(url) === undefined ? 404 : 200,
        headers: {},
        body: Buffer.from(keysAt(url) ?? ""),
      });
    const remoteKeys = createRemoteKeys({ clock: Date, logger: keepingLogger(), bounds: PATIENT_BOUNDS, fetch });
    onTestFinished(() => remoteKeys.close());
    return verifyCall(preset, callWith(token, body), { settings, remoteKeys });
  }

  function callWith(token: string, body?: Uint8Array): IncomingRequest {
    const [sample] = Object.values(preset.samples);
    const signed = signSample(preset, sample!, { settings, key: token });
    return receivedCall({ ...signed, body: body ?? signed.body });
  }

  const bothSay = (token: string) =>
    recorder.judge(callWith(token), { settings }, async () => {
      const issuers = ["https://accounts.google.com", "accounts.google.com"];
      const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(token, certificates, audience, issuers);
      return ticket.getPayload()?.email === serviceAccount && ticket.getPayload()?.email_verified === true;
    });

  const tokenOf = (changes: Claims = {}, now = Date.now()) =>
    signToken(key, { now, claims: { ...claims, ...changes } });

  describe(`a token that Google pushes to ${preset.name}`, () => {
    it.each(["https://accounts.google.com", "accounts.google.com"])(
      "is accepted by both when %s issued it",
      async (iss) => {
        expect(await bothSay(await tokenOf({ iss }))).toEqual({ we: true, sdk: true });
      },
    );

    it.each<[string, Claims]>([
      ["of another service account", { email: "mallory@example-project.iam.gserviceaccount.com" }],
      ["of an account that is not verified", { email_verified: false }],
      ["that calls the account verified in a text", { email_verified: "true" }],
      ["for another audience", { aud: "https://gateway.example.com/hooks/other" }],
      ["of another issuer", { iss: "https://accounts.example.com" }],
    ])("is refused by both: one %s", async (_, changes) => {
      expect(await bothSay(await tokenOf(changes))).toEqual({ we: false, sdk: false });
    });

    it("is refused by both when it is stale", async () => {
      expect(await bothSay(await tokenOf({}, Date.now() - 7_200_000))).toEqual({ we: false, sdk: false });
    });

    it("is refused by both when a byte of it is flipped", async () => {
      const token = await tokenOf();
      const at = token.lastIndexOf(".") + 10;
      const flipped = `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
      expect(await bothSay(flipped)).toEqual({ we: false, sdk: false });
    });

    it("recognizes a second copy of the request, but not another message under the same token", async () => {
      const token = await tokenOf();
      const markOf = async (body?: Uint8Array) => {
        const verification = await verify(token, body);
        return verification.ok ? verification.replay?.digest : undefined;
      };
      expect(await markOf()).toHaveLength(32);
      expect(await markOf()).toEqual(await markOf());
      expect(await markOf(Buffer.from("{}"))).not.toEqual(await markOf());
    });
  });
}
