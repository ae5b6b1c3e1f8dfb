import { createHmac } from "node:crypto";
import { Paddle } from "@paddle/paddle-node-sdk";
import { expect, it } from "vitest";
import { sampleBody } from "../../src/presets/preset.ts";
import { paddle } from "../../src/presets/senders/paddle.ts";
import { NOW, receivedCall, signSample } from "../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";

const SECRET = "pdl_ntfset_01aaaaaaaaaaaaaaaaaaaaaaaa_aSecretOfThisTest0123456789";
const { webhooks } = new Paddle("pdl_sdbx_apikey_nothing_is_called");
const header = "paddle-signature";
const signatureOf = (body: string, seconds: number, key = SECRET) =>
  createHmac("sha256", key).update(`${seconds}:${body}`).digest("hex");

const recorder = describeOracle({
  preset: paddle,
  library: "@paddle/paddle-node-sdk",
  secret: SECRET,
  header,
  sign: ({ body }, now) => ({ [header]: `ts=${now / 1_000};h1=${signatureOf(body, now / 1_000)}` }),
  accepts: ({ headers, body }) => webhooks.isSignatureValid(body, SECRET, headers[header] ?? ""),
  staleAfter: { ours: 300, theirs: 5 },
  ahead: { ours: 300, theirs: "any" },
  // While a secret is changed, Paddle signs with both; its library looks at the last one only.
  appended: { write: (value) => `${value};h1=${"0".repeat(64)}`, ours: true, theirs: false },
});

it("takes either signature while the secret is changed, in which the library fails half the time", async () => {
  const [sample] = Object.values(paddle.samples);
  const body = Buffer.from(sampleBody(sample!).body).toString();
  const seconds = NOW / 1_000;
  const both = [signatureOf(body, seconds), signatureOf(body, seconds, `${SECRET}-old`)];
  for (const [first, second, sdk] of [[...both, false] as const, [...both.toReversed(), true] as const]) {
    const signed = signSample(paddle, sample!, { secrets: [SECRET], key: SECRET });
    const headers = { ...signed.headers, [header]: `ts=${seconds};h1=${first};h1=${second}` };
    const library = () => webhooks.isSignatureValid(body, SECRET, headers[header]);
    const verdicts = recorder.judge(receivedCall({ ...signed, headers }), { secrets: [SECRET] }, library);
    expect(await verdicts).toEqual({ we: true, sdk });
  }
});
