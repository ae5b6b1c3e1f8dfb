import { createHmac } from "node:crypto";
import { WebhooksHelper } from "square";
import { expect, it } from "vitest";
import { square } from "../../../src/presets/senders/square.ts";
import { receivedCall, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";

const SECRET = "aSignatureKeyOfThisTest";
const header = "x-square-hmacsha256-signature";

describeOracle({
  preset: square,
  secret: SECRET,
  header,
  sign: ({ url, body }) => ({
    [header]: createHmac("sha256", SECRET)
      .update(url + body)
      .digest("base64"),
  }),
  accepts: ({ url, headers, body }) =>
    WebhooksHelper.verifySignature({
      requestBody: body,
      signatureHeader: headers[header] ?? "",
      signatureKey: SECRET,
      notificationUrl: url,
    }),
  appended: { write: (value) => `${value},${"A".repeat(43)}=`, ours: false, theirs: false },
});

it("refuses what was signed for another URL, as the library does", async () => {
  const [sample] = Object.values(square.samples);
  const options = { secrets: [SECRET], key: SECRET, publicUrl: "https://other.example.com" };
  const signed = signSample(square, sample!, options);
  const elsewhere = await WebhooksHelper.verifySignature({
    requestBody: Buffer.from(signed.body).toString(),
    signatureHeader: signed.headers[header]!,
    signatureKey: SECRET,
    notificationUrl: "https://gateway.example.com/hooks/square",
  });
  const ours = await verifyCall(square, receivedCall(signed), { secrets: [SECRET] });
  expect([ours.ok, elsewhere]).toEqual([false, false]);
  expect((await verifyCall(square, receivedCall(signed), options)).ok).toBe(true);
});
