import { Signature } from "@hubspot/api-client";
import { expect, it } from "vitest";
import { hubspot } from "../../src/presets/senders/hubspot.ts";
import { NOW, receivedCall, signSample } from "../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";
import type { OracleRequest } from "./describe-oracle.ts";

const SECRET = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const header = "x-hubspot-signature-v3";
const timeHeader = "x-hubspot-request-timestamp";

const accepts = async ({ url, headers, body }: OracleRequest) =>
  Signature.isValid({
    signature: headers[header] ?? "",
    clientSecret: SECRET,
    requestBody: body,
    signatureVersion: "v3",
    url,
    method: "POST",
    timestamp: Number(headers[timeHeader]),
  });

const recorder = describeOracle({
  preset: hubspot,
  library: "@hubspot/api-client",
  secret: SECRET,
  header,
  sign: ({ url, body }, now) => ({
    [timeHeader]: String(now),
    [header]: Signature.getSignature("POST", "v3", {
      signature: "",
      clientSecret: SECRET,
      requestBody: body,
      url,
      timestamp: now,
    }),
  }),
  accepts,
  staleAfter: { ours: 300, theirs: 300 },
  ahead: { ours: 300, theirs: "any" },
  appended: { write: (value) => `${value}, ${"A".repeat(43)}=`, ours: false, theirs: false },
});

it("refuses a request whose time was changed, as the library does", async () => {
  const [sample] = Object.values(hubspot.samples);
  const signed = signSample(hubspot, sample!, { secrets: [SECRET], key: SECRET });
  const headers = { ...signed.headers, [timeHeader]: String(NOW + 1) };
  const verdicts = recorder.judge(receivedCall({ ...signed, headers }), { secrets: [SECRET] }, () =>
    accepts({ url: signed.url, headers, body: Buffer.from(signed.body).toString() }),
  );
  expect(await verdicts).toEqual({ we: false, sdk: false });
});

it("undoes the escapes of a URL that HubSpot undoes before it signs, which the library leaves to its caller", async () => {
  const [sample] = Object.values(hubspot.samples);
  const escaped = { ...sample!, query: { to: "a:b/c@d" } };
  const signed = signSample(hubspot, escaped, { secrets: [SECRET], key: SECRET });
  expect(signed.url).toContain("a%3Ab%2Fc%40d");
  const url = "https://gateway.example.com/hooks/hubspot?to=a:b/c@d";
  const verdicts = recorder.judge(receivedCall(signed), { secrets: [SECRET] }, () =>
    accepts({ url, headers: signed.headers, body: Buffer.from(signed.body).toString() }),
  );
  expect(await verdicts).toEqual({ we: true, sdk: true });
});
