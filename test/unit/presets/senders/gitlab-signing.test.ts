import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { gitlabSigning } from "../../../../src/presets/senders/gitlab/gitlab-signing.ts";
import { NOW, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";
import { GITLAB_READINGS } from "./gitlab-readings.ts";

describe("the preset gitlab-signing", () => {
  itReadsSamples(gitlabSigning, GITLAB_READINGS);

  it("trusts the id, since it is signed", () => {
    expect(gitlabSigning).toMatchObject({ deliveryIdSigned: true, deliveryIdSource: "header:webhook-id" });
  });

  it("takes GitLab's signature over id, time and body, and no token in its place", async () => {
    const key = Buffer.alloc(32, "k");
    const secret = `whsec_${key.toString("base64")}`;
    const time = String(NOW / 1_000);
    const signed = sampleCall(gitlabSigning, "push", (body) => ({
      "webhook-id": "d-1",
      "webhook-timestamp": time,
      "webhook-signature": `v1,${createHmac("sha256", key).update(`d-1.${time}.`).update(body).digest("base64")}`,
    }));
    expect(await verifyCall(gitlabSigning, signed, { secrets: [secret] })).toMatchObject({ ok: true });
    const token = sampleCall(gitlabSigning, "push", () => ({
      "webhook-id": "d-1",
      "webhook-timestamp": time,
      "x-gitlab-token": secret,
    }));
    expect(await verifyCall(gitlabSigning, token, { secrets: [secret] })).toMatchObject({ ok: false });
  });
});
