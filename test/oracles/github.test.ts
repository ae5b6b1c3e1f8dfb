import { sign, verify } from "@octokit/webhooks-methods";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import type { PresetSample } from "../../src/presets/preset.ts";
import { github } from "../../src/presets/senders/github/github.ts";
import { receivedCall, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const SIGNATURE = "x-hub-signature-256";
const SECRET = "an-invented-secret-of-acme";
const options = { secrets: [SECRET] };

/** What hooks that were made through the API post by default. */
const asForm = ({ payload, ...rest }: PresetSample): PresetSample => ({
  ...rest,
  format: "form",
  payload: { payload: JSON.stringify(payload) },
});

const samples: readonly (readonly [string, PresetSample])[] = Object.entries(github.samples).flatMap(
  ([name, sample]) => [
    [`${name} as JSON`, sample],
    [`${name} as a form`, asForm(sample)],
  ],
);

const recorder = recordVectors(github, "@octokit/webhooks-methods");
const bothSay = (call: IncomingRequest, known = options) =>
  recorder.judge(call, known, () =>
    verify(known.secrets[0]!, Buffer.from(call.body).toString(), String(call.headers[SIGNATURE])),
  );

describe.each(samples)("%s", (_, sample) => {
  const signed = signSample(github, sample, { key: SECRET, ...options });
  const body = Buffer.from(signed.body).toString("utf8");
  const call = (signature: string) =>
    receivedCall({ ...signed, headers: { ...signed.headers, [SIGNATURE]: signature } });

  it("is accepted by both as we sign it", async () => {
    expect(await bothSay(receivedCall(signed))).toEqual({ we: true, sdk: true });
  });

  it("is accepted by both as GitHub's library signs it", async () => {
    expect(await bothSay(call(await sign(SECRET, body)))).toEqual({ we: true, sdk: true });
  });

  it("is refused by both with a byte changed", async () => {
    const flipped = Buffer.from(signed.body);
    flipped[5]! ^= 1;
    expect(await bothSay({ ...receivedCall(signed), body: flipped })).toEqual({ we: false, sdk: false });
  });

  it("is refused by both with a second signature appended", async () => {
    const first = signed.headers[SIGNATURE]!;
    for (const signature of [`${first},${first}`, `${first} ${first}`, `sha256=${"0".repeat(64)}, ${first}`]) {
      expect(await bothSay(call(signature))).toEqual({ we: false, sdk: false });
    }
  });

  it("is refused by both under another secret", async () => {
    const signature = await sign("another-secret-of-acme", body);
    expect(await bothSay(call(signature))).toEqual({ we: false, sdk: false });
  });
});

describe("the signature of GitHub", () => {
  it("verifies the vector of GitHub's documentation", async () => {
    const signed = signSample(github, { format: "text", payload: "Hello, World!" }, { key: SECRET, ...options });
    const headers = {
      ...signed.headers,
      [SIGNATURE]: "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    };
    const known = { secrets: ["It's a Secret to Everybody"] };
    expect(await bothSay(receivedCall({ ...signed, headers }), known)).toEqual({ we: true, sdk: true });
    expect(github.secret?.known).toContain(known.secrets[0]);
  });

  it("is refused in the older header alone", async () => {
    const signed = signSample(github, github.samples["push"]!, { key: SECRET, ...options });
    const { [SIGNATURE]: signature, ...headers } = signed.headers;
    const call = receivedCall({ ...signed, headers: { ...headers, "x-hub-signature": signature! } });
    expect(await bothSay(call)).toEqual({ we: false, sdk: false });
  });

  it("is taken with the digits of its hex in upper case, which GitHub's library refuses", async () => {
    const signed = signSample(github, github.samples["push"]!, { key: SECRET, ...options });
    const [, hex] = signed.headers[SIGNATURE]!.split("=");
    const call = receivedCall({
      ...signed,
      headers: { ...signed.headers, [SIGNATURE]: `sha256=${hex!.toUpperCase()}` },
    });
    expect(await bothSay(call)).toEqual({ we: true, sdk: false });
  });

  it("is the same replay key for a copy, however its hex is written", async () => {
    const signed = signSample(github, github.samples["push"]!, { key: SECRET, ...options });
    const [prefix, hex] = signed.headers[SIGNATURE]!.split("=");
    const copy = {
      ...signed,
      headers: { ...signed.headers, [SIGNATURE]: `${prefix}=${hex!.toUpperCase()}` },
    };
    const first = await verifyCall(github, receivedCall(signed), options);
    const second = await verifyCall(github, receivedCall(copy), options);
    expect(first.ok && first.replay?.digest).toBeInstanceOf(Uint8Array);
    expect(second).toEqual(first);
  });
});
