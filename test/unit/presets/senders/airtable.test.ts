import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { airtable } from "../../../../src/presets/senders/airtable.ts";
import { verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "YW4taW52ZW50ZWQtbWFjLXNlY3JldC1vZi1hY21lLTAw";

describe("the preset airtable", () => {
  itReadsSamples(airtable, {
    notification: {
      event: "base.changed",
      deliveryId: "ach00000000000000.2026-11-20T11:59:58.663Z",
      answer: {
        status: 200,
      },
      message: [
        "An Airtable base has changed",
        "Changes: GET https://api.airtable.com/v0/bases/app00000000000000/webhooks/ach00000000000000/payloads with the cursor after the last one read",
        "At: 2026-11-20 11:59 UTC",
        "Ids: base app00000000000000, webhook ach00000000000000",
      ],
    },
  });

  it("takes a signature over the exact body, and no other", async () => {
    const sign = (body: Uint8Array): string =>
      `hmac-sha256=${createHmac("sha256", Buffer.from(SECRET, "base64")).update(body).digest("hex")}`;
    const call = sampleCall(airtable, "notification", (body) => ({ "x-airtable-content-mac": sign(body) }));
    const verify = (changes: object, headers: object = {}) =>
      verifyCall(airtable, { ...call, ...changes, headers: { ...call.headers, ...headers } }, { secrets: [SECRET] });
    expect((await verify({})).ok).toBe(true);
    for (const refused of [
      verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) }),
      verify({}, { "x-airtable-content-mac": sign(Buffer.from("other")) }),
      verify({}, { "x-airtable-content-mac": undefined }),
    ]) {
      expect((await refused).ok).toBe(false);
    }
  });
});
