import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { forgejo } from "../../../../src/presets/senders/gitea/forgejo.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";
import { sampleCall } from "../sample-call.ts";
import { forgeReadings } from "./forge-readings.ts";

describe("the preset forgejo", () => {
  itReadsSamples(forgejo, forgeReadings("https://forgejo.example.com"));

  itTakesTheHmac(forgejo, "push", "x-forgejo-signature", (mac) => mac.digest("hex"));

  it("does not take Gitea's header, which comes with it, in its place", async () => {
    const secret = "an-invented-secret";
    const call = sampleCall(forgejo, "push", (body) => ({
      "x-gitea-signature": createHmac("sha256", secret).update(body).digest("hex"),
      "x-forgejo-signature": "",
    }));
    expect(await verifyCall(forgejo, call, { secrets: [secret] })).toMatchObject({ ok: false });
  });

  it("takes the account of its workflows for a bot", () => {
    expect(readSample(forgejo, { payload: { sender: { login: "forgejo-actions" } } }).sender).toMatchObject({
      bot: true,
    });
  });
});
