import { sign, verify } from "@octokit/webhooks-methods";
import { describe, expect, it } from "vitest";
import type { PresetSample } from "../../../src/presets/preset.ts";
import { github } from "../../../src/presets/senders/github/github.ts";
import { receivedCall, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";

const SECRET = "an-invented-secret-of-acme";
const options = { secrets: [SECRET] };

/** What hooks that were made through the API post unless they are told otherwise. */
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

describe.each(samples)("%s", (_, sample) => {
  const signed = signSample(github, sample, { key: SECRET, ...options });
  const body = Buffer.from(signed.body).toString("utf8");
  const call = (changes: object = {}) => receivedCall({ ...signed, headers: { ...signed.headers, ...changes } });

  it("is accepted by GitHub's library as we sign it", async () => {
    expect(await verify(SECRET, body, signed.headers["x-hub-signature-256"]!)).toBe(true);
  });

  it("is accepted by us as GitHub's library signs it", async () => {
    const signature = await sign(SECRET, body);
    expect(await verifyCall(github, call({ "x-hub-signature-256": signature }), options)).toMatchObject({ ok: true });
  });

  it("is refused by both with a byte changed", async () => {
    const flipped = Buffer.from(signed.body);
    flipped[5]! ^= 1;
    expect(await verify(SECRET, flipped.toString("utf8"), signed.headers["x-hub-signature-256"]!)).toBe(false);
    expect(await verifyCall(github, { ...call(), body: flipped }, options)).toMatchObject({ ok: false });
  });

  it("is refused by both with a second signature appended", async () => {
    const first = signed.headers["x-hub-signature-256"]!;
    for (const signature of [`${first},${first}`, `${first} ${first}`, `sha256=${"0".repeat(64)}, ${first}`]) {
      expect(await verify(SECRET, body, signature)).toBe(false);
      expect(await verifyCall(github, call({ "x-hub-signature-256": signature }), options)).toMatchObject({
        ok: false,
      });
    }
  });

  it("is refused by both under another secret", async () => {
    const signature = await sign("another-secret-of-acme", body);
    expect(await verify(SECRET, body, signature)).toBe(false);
    expect(await verifyCall(github, call({ "x-hub-signature-256": signature }), options)).toMatchObject({ ok: false });
  });
});

describe("the signature of GitHub", () => {
  it("verifies the vector of GitHub's documentation", async () => {
    const call = {
      ...receivedCall(signSample(github, { format: "text", payload: "Hello, World!" }, { key: SECRET, ...options })),
    };
    const headers = {
      ...call.headers,
      "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    };
    const known = { secrets: ["It's a Secret to Everybody"] };
    expect(await verifyCall(github, { ...call, headers }, known)).toMatchObject({ ok: true });
    expect(github.secret?.known).toContain(known.secrets[0]);
  });

  it("is refused in the older header alone", async () => {
    const signed = signSample(github, github.samples["push"]!, { key: SECRET, ...options });
    const { "x-hub-signature-256": signature, ...headers } = signed.headers;
    const call = receivedCall({ ...signed, headers: { ...headers, "x-hub-signature": signature! } });
    expect(await verifyCall(github, call, options)).toMatchObject({ ok: false });
  });

  it("is taken with the digits of its hex in upper case, which GitHub's library refuses", async () => {
    const signed = signSample(github, github.samples["push"]!, { key: SECRET, ...options });
    const [, hex] = signed.headers["x-hub-signature-256"]!.split("=");
    const signature = `sha256=${hex!.toUpperCase()}`;
    expect(await verify(SECRET, Buffer.from(signed.body).toString("utf8"), signature)).toBe(false);
    const call = receivedCall({ ...signed, headers: { ...signed.headers, "x-hub-signature-256": signature } });
    expect(await verifyCall(github, call, options)).toMatchObject({ ok: true });
  });

  it("is the same mark for a copy, however its hex is written", async () => {
    const signed = signSample(github, github.samples["push"]!, { key: SECRET, ...options });
    const [prefix, hex] = signed.headers["x-hub-signature-256"]!.split("=");
    const copy = {
      ...signed,
      headers: { ...signed.headers, "x-hub-signature-256": `${prefix}=${hex!.toUpperCase()}` },
    };
    const first = await verifyCall(github, receivedCall(signed), options);
    const second = await verifyCall(github, receivedCall(copy), options);
    expect(first.ok && first.replay?.digest).toBeInstanceOf(Uint8Array);
    expect(second).toEqual(first);
  });
});
