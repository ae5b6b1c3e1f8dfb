import { createHash } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { netlify } from "../../../../src/presets/senders/netlify.ts";
import { NOW, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-token-of-acme";
const key = new TextEncoder().encode(SECRET);
const sha256 = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");

describe("the preset netlify", () => {
  itReadsSamples(netlify, {
    deploy_failed: {
      event: "deploy_failed",
      deliveryId: "5ebc34bf4fea0b01f02efa3a.error.2026-11-20T11:58:56.738Z",
      message: [
        "Deploy of acme-site for production failed: Fix login",
        "Error: Failed during stage 'building site': Build script returned non-zero exit code: 2",
        "Branch: main",
        "Commit: 9c1185a https://github.com/acme/site/commit/9c1185a5c5e9fc54612808977ee8f548b2258d31",
        "Site: https://main--acme-site.netlify.app",
        "Log: https://app.netlify.com/sites/acme-site/deploys/5ebc34bf4fea0b01f02efa3a",
        "Deploy: 5ebc34bf4fea0b01f02efa3a",
      ],
    },
    deploy_created: {
      event: "deploy_created",
      deliveryId: "5ebc34bf4fea0b01f02efa3a.ready.2026-11-20T11:59:56.738Z",
      message: [
        "Deploy of acme-site for deploy-preview succeeded: Fix login",
        "Branch: main",
        "Commit: 9c1185a https://github.com/acme/site/commit/9c1185a5c5e9fc54612808977ee8f548b2258d31",
        "Review: https://github.com/acme/site/pull/42",
        "Site: https://main--acme-site.netlify.app",
        "Log: https://app.netlify.com/sites/acme-site/deploys/5ebc34bf4fea0b01f02efa3a",
        "Published: 2026-11-20 11:59 UTC",
        "Deploy: 5ebc34bf4fea0b01f02efa3a",
      ],
    },
    submission_created: {
      event: "submission_created",
      deliveryId: "5f1a8c0000000000000000a1",
      message: [
        "Form contact was submitted by Ada Byron",
        "Name: Ada Byron",
        "Message: Where is my order?",
        "Email: ada@example.com",
        "Site: https://www.acme.example.com",
        "Ids: submission 5f1a8c0000000000000000a1, form 5f1a8c0000000000000000b1",
      ],
    },
  });

  it("takes a token of Netlify that holds the digest of the body, and no other", async () => {
    const { body, headers, ...call } = sampleCall(netlify, "deploy_failed", () => ({}));
    const verify = async (claims: Readonly<Record<string, unknown>>, by = key, sent = body) => {
      const token = await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(by);
      const signed = { ...call, body: sent, headers: { ...headers, "x-webhook-signature": token } };
      return verifyCall(netlify, signed, { secrets: [SECRET] });
    };
    const claims = { iss: "netlify", sha256: sha256(body) };
    const first = await verify(claims);
    expect(first).toMatchObject({ ok: true, replay: { expiresAt: NOW + 86_400_000 } });
    expect(await verify(claims)).toEqual(first);
    for (const refused of [
      verify({ ...claims, iss: "another" }),
      verify({ sha256: claims.sha256 }),
      verify({ iss: "netlify" }),
      verify({ ...claims, sha256: claims.sha256.slice(2) }),
      verify({ ...claims, exp: NOW / 1_000 - 60 }),
      verify(claims, new TextEncoder().encode("another-token-of-acme")),
      verify(claims, key, Buffer.concat([body, Buffer.from(" ")])),
    ]) {
      expect((await refused).ok).toBe(false);
    }
  });

  it("names an event by the state of the deploy when no header does, and lists the fields of a form without titles", () => {
    const payload = { id: "1", state: "ready", name: "acme-site" };
    expect(readSample(netlify, { payload })).toMatchObject({
      event: "deploy.ready",
      message: "Deploy ready of acme-site\nDeploy: 1",
    });
    const data = { question: "When?", ip: "203.0.113.7" };
    expect(readSample(netlify, { payload: { form_name: "contact", data } }).message).toBe(
      "Form contact was submitted\nquestion: When?",
    );
  });
});
