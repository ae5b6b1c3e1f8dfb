import { createHmac } from "node:crypto";
import { WebhooksHelper } from "square";
import { expect, it } from "vitest";
import { square } from "../../src/presets/senders/square.ts";
import { PUBLIC_URL, receivedCall, signSample } from "../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";
import type { OracleRequest } from "./describe-oracle.ts";

const SECRET = "aSignatureKeyOfThisTest";
const header = "x-square-hmacsha256-signature";

const accepts = ({ url, headers, body }: OracleRequest) =>
  WebhooksHelper.verifySignature({
    requestBody: body,
    signatureHeader: headers[header] ?? "",
    signatureKey: SECRET,
    notificationUrl: url,
  });

const recorder = describeOracle({
  preset: square,
  library: "square",
  secret: SECRET,
  header,
  sign: ({ url, body }) => ({
    [header]: createHmac("sha256", SECRET)
      .update(url + body)
      .digest("base64"),
  }),
  accepts,
  appended: { write: (value) => `${value},${"A".repeat(43)}=`, ours: false, theirs: false },
});

it("refuses what was signed for another URL, as the library does", async () => {
  const [sample] = Object.values(square.samples);
  const elsewhere = "https://other.example.com";
  const signed = signSample(square, sample!, { secrets: [SECRET], key: SECRET, publicUrl: elsewhere });
  const body = Buffer.from(signed.body).toString();
  const bothSay = (publicUrl: string) =>
    recorder.judge(receivedCall(signed), { secrets: [SECRET], publicUrl }, () =>
      accepts({ url: `${publicUrl}/hooks/square`, headers: signed.headers, body }),
    );
  expect(await bothSay(PUBLIC_URL)).toEqual({ we: false, sdk: false });
  expect(await bothSay(elsewhere)).toEqual({ we: true, sdk: true });
});
