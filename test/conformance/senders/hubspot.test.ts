import { Signature } from "@hubspot/api-client";
import { expect, it } from "vitest";
import { hubspot } from "../../../src/presets/senders/hubspot.ts";
import { NOW, receivedCall, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";

const SECRET = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const header = "x-hubspot-signature-v3";
const timeHeader = "x-hubspot-request-timestamp";

describeOracle({
  preset: hubspot,
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
  accepts: async ({ url, headers, body }) =>
    Signature.isValid({
      signature: headers[header] ?? "",
      clientSecret: SECRET,
      requestBody: body,
      signatureVersion: "v3",
      url,
      method: "POST",
      timestamp: Number(headers[timeHeader]),
    }),
  staleAfter: { ours: 300, theirs: 300 },
  ahead: { ours: 300, theirs: "any" },
  appended: { write: (value) => `${value}, ${"A".repeat(43)}=`, ours: false, theirs: false },
});

it("refuses a request whose time was changed, as the library does", async () => {
  const [sample] = Object.values(hubspot.samples);
  const signed = signSample(hubspot, sample!, { secrets: [SECRET], key: SECRET });
  const headers = { ...signed.headers, [timeHeader]: String(NOW + 1) };
  const ours = await verifyCall(hubspot, receivedCall({ ...signed, headers }), { secrets: [SECRET] });
  const library = Signature.getSignature("POST", "v3", {
    signature: "",
    clientSecret: SECRET,
    requestBody: Buffer.from(signed.body).toString(),
    url: signed.url,
    timestamp: NOW + 1,
  });
  expect([ours.ok, library === signed.headers[header]]).toEqual([false, false]);
});

it("undoes the escapes of a URL that HubSpot undoes before it signs, which the library leaves to its caller", async () => {
  const [sample] = Object.values(hubspot.samples);
  const escaped = { ...sample!, query: { to: "a:b/c@d" } };
  const signed = signSample(hubspot, escaped, { secrets: [SECRET], key: SECRET });
  expect(signed.url).toContain("a%3Ab%2Fc%40d");
  const expected = Signature.getSignature("POST", "v3", {
    signature: "",
    clientSecret: SECRET,
    requestBody: Buffer.from(signed.body).toString(),
    url: "https://gateway.example.com/hooks/hubspot?to=a:b/c@d",
    timestamp: NOW,
  });
  expect(signed.headers[header]).toBe(expected);
  expect((await verifyCall(hubspot, receivedCall(signed), { secrets: [SECRET] })).ok).toBe(true);
});
