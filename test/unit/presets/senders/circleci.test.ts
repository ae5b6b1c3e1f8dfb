import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { circleci } from "../../../../src/presets/senders/circleci.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

describe("the preset circleci", () => {
  itReadsSamples(circleci, {
    "workflow-completed": {
      event: "workflow-completed.failed",
      deliveryId: "3888f21b-eaa7-38e3-8f3d-75a63bba8895",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "CircleCI: workflow build-test-deploy of github/acme/app failed: Fix login",
        "Author: Ada Byron",
        "Branch: main",
        "Commit: 1dc6aa6",
        "Repository: https://github.com/acme/app",
        "Ended: 2026-11-20 11:59 UTC",
        "https://app.circleci.com/pipelines/github/acme/app/130/workflows/fda08377-fe7e-46b1-8992-3a7aaecac9c3",
        "Ids: workflow fda08377-fe7e-46b1-8992-3a7aaecac9c3, pipeline 130",
      ],
    },
    "job-completed": {
      event: "job-completed.success",
      deliveryId: "8bd71c28-4969-3677-8940-3e3a61c46660",
      sender: { name: "Grace Murray", id: "grace@example.com", bot: false },
      message: [
        "CircleCI: job test of github/acme/app succeeded: Update README.md",
        "Workflow: build-test-deploy",
        "Author: Grace Murray",
        "Branch: docs",
        "Commit: 850a151",
        "Repository: https://gitlab.com/acme/app",
        "Ended: 2026-11-20 11:59 UTC",
        "https://app.circleci.com/pipelines/github/acme/app/130/workflows/fda08377-fe7e-46b1-8992-3a7aaecac9c3",
        "Ids: workflow fda08377-fe7e-46b1-8992-3a7aaecac9c3, job 136, pipeline 130",
      ],
    },
  });

  it("skips the ping by which CircleCI tries the webhook", () => {
    const payload = { type: "ping", id: "1", happened_at: "2026-11-20T11:59:58Z", webhook: { id: "2", name: "R" } };
    expect(readSample(circleci, { payload })).toMatchObject({ event: "ping", skip: "CircleCI tests the webhook" });
  });

  it.each([
    ["error", "ended with an error"],
    ["canceled", "was canceled"],
    ["unauthorized", "was unauthorized"],
  ])("says of the status %s that a workflow %s", (status, said) => {
    const payload = { type: "workflow-completed", workflow: { name: "build", status } };
    expect(readSample(circleci, { payload })).toMatchObject({
      event: `workflow-completed.${status}`,
      message: `CircleCI: workflow build ${said}`,
    });
  });
});

describe("the signature of circleci", () => {
  const SECRET = "an-invented-secret-of-acme";
  const sign = (body: Uint8Array, secret = SECRET) => createHmac("sha256", secret).update(body).digest("hex");
  const verify = async (write: (body: Uint8Array) => string, changes: object = {}) => {
    const call = sampleCall(circleci, "workflow-completed", (body) => ({ "circleci-signature": write(body) }));
    return (await verifyCall(circleci, { ...call, ...changes }, { secrets: [SECRET] })).ok;
  };

  it("is taken from a list of versions", async () => {
    expect(await verify((body) => `v1=${sign(body)}`)).toBe(true);
    expect(await verify((body) => `v1=${sign(body)},v2=${"0".repeat(64)}`)).toBe(true);
  });

  it("is refused when it is of another version, another secret or another body", async () => {
    expect(await verify((body) => `v2=${sign(body)}`)).toBe(false);
    expect(await verify((body) => sign(body))).toBe(false);
    expect(await verify((body) => `v1=${sign(body, "another-secret-of-acme")}`)).toBe(false);
    expect(await verify((body) => `v1=${sign(body)}`, { body: Buffer.from("{}") })).toBe(false);
  });
});
