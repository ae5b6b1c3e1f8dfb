import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { vercel } from "../../../../src/presets/senders/vercel.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

describe("the preset vercel", () => {
  itReadsSamples(vercel, {
    "deployment.error": {
      event: "deployment.error",
      deliveryId: "evt_0000000000000000000001",
      sender: { name: "octo", id: "usr_3d4e5f", bot: false },
      message: [
        "Deployment of app to production failed",
        "Author: octo",
        "Branch: main",
        "Commit: 9c1185a Fix login",
        "Site: https://app-a1b2c3-acme.vercel.example.com",
        "https://vercel.example.com/acme/app/7NdBk2x0000000000000000001",
      ],
    },
    "deployment.succeeded": {
      event: "deployment.succeeded",
      deliveryId: "evt_0000000000000000000002",
      sender: { name: "octo", id: "usr_3d4e5f", bot: false },
      message: [
        "Deployment of app to preview succeeded",
        "Author: octo",
        "Branch: main",
        "Commit: 9c1185a Fix login",
        "Site: https://app-a1b2c3-acme.vercel.example.com",
        "https://vercel.example.com/acme/app/7NdBk2x0000000000000000001",
      ],
    },
    "project.created": {
      event: "project.created",
      deliveryId: "evt_0000000000000000000003",
      sender: { name: "usr_3d4e5f", bot: false },
      message: ["Project created: app"],
    },
  });

  it("takes the HMAC-SHA1 of the body, and none over another", async () => {
    const secret = "an-invented-secret";
    const sign = (body: Uint8Array) => createHmac("sha1", secret).update(body).digest("hex");
    const call = sampleCall(vercel, "deployment.error", (body) => ({ "x-vercel-signature": sign(body) }));
    expect(await verifyCall(vercel, call, { secrets: [secret] })).toMatchObject({ ok: true });
    expect(await verifyCall(vercel, { ...call, body: Buffer.from("{}") }, { secrets: [secret] })).toMatchObject({
      ok: false,
    });
  });

  it("trusts the id, since it is in the signed body", () => {
    expect(vercel.deliveryIdSigned).toBe(true);
  });

  it.each<[object, readonly string[]]>([
    [
      {
        type: "deployment.promoted",
        payload: {
          deployment: {
            name: "app",
            url: "https://app.example.com",
            meta: { gitlabCommitAuthorName: "Ada", gitlabCommitRef: "main" },
          },
        },
      },
      ["Deployment of app to preview was promoted", "Author: Ada", "Branch: main", "Site: https://app.example.com"],
    ],
    [{ type: "domain.created", payload: { domain: { name: "example.com" } } }, ["Domain created: example.com"]],
    [{ type: "attack.detected", payload: { count: 2 } }, ["Attack detected", '{"count":2}']],
    [{ odd: 1 }, ["Vercel event", '{"odd":1}']],
  ])("says of %j what happened", (payload, lines) => {
    expect(readSample(vercel, { payload }).message).toBe(lines.join("\n"));
  });
});
