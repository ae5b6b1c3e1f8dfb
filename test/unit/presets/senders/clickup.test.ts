import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { clickup } from "../../../../src/presets/senders/clickup.ts";
import { readSample, receivedCall, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-secret-of-acme";

describe("the preset clickup", () => {
  itReadsSamples(clickup, {
    taskStatusUpdated: {
      event: "taskStatusUpdated",
      deliveryId: "7fa3ec74-69a8-4530-a251-8a13730bd204:2800763136717140857",
      sender: {
        name: "Ada Byron",
        id: "183",
        bot: false,
      },
      message: [
        "ClickUp: task status updated by Ada Byron",
        "Status: to do -> in progress",
        "Task: https://app.clickup.com/t/1vj38vv",
        "At: 2026-11-20 11:59 UTC",
        "Ids: task 1vj38vv",
      ],
    },
    taskCommentPosted: {
      event: "taskCommentPosted",
      deliveryId: "7fa3ec74-69a8-4530-a251-8a13730bd204:2800803631413624919",
      sender: {
        name: "Ada Byron",
        id: "183",
        bot: false,
      },
      message: [
        "ClickUp: task comment posted by Ada Byron",
        "Comment: Can we ship this on Monday?",
        "Task: https://app.clickup.com/t/1vj38vv",
        "At: 2026-11-20 11:59 UTC",
        "Ids: task 1vj38vv",
      ],
    },
    taskDeleted: {
      event: "taskDeleted",
      message: ["ClickUp: task deleted", "Task: https://app.clickup.com/t/1vj38vv", "Ids: task 1vj38vv"],
    },
  });

  // ClickUp writes nothing else into it, and sends one for each folder and list of the space as well.
  it("takes a second change of the same space, which has the same words, for no copy", async () => {
    const payload = { event: "spaceUpdated", space_id: "7002367", webhook_id: "7fa3ec74-69a8-4530-a251-8a13730bd204" };
    expect(readSample(clickup, { payload }).deliveryId).toBeUndefined();
    const call = receivedCall(signSample(clickup, { payload }, { secrets: [SECRET], key: SECRET }));
    const verdict = await verifyCall(clickup, call, { secrets: [SECRET] });
    expect(verdict.ok).toBe(true);
    expect(verdict).not.toHaveProperty("replay");
  });

  it("takes a signature over the exact body, and no other", async () => {
    const sign = (body: Uint8Array): string => createHmac("sha256", SECRET).update(body).digest("hex");
    const call = sampleCall(clickup, "taskStatusUpdated", (body) => ({ "x-signature": sign(body) }));
    const verify = (changes: object, headers: object = {}) =>
      verifyCall(clickup, { ...call, ...changes, headers: { ...call.headers, ...headers } }, { secrets: [SECRET] });
    expect((await verify({})).ok).toBe(true);
    for (const refused of [
      verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) }),
      verify({}, { "x-signature": sign(Buffer.from("other")) }),
      verify({}, { "x-signature": undefined }),
    ]) {
      expect((await refused).ok).toBe(false);
    }
  });
});
