import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { composio } from "../../../../src/presets/senders/composio.ts";
import { NOW, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "whsec_invented-and-no-base64-of-anything";

describe("the preset composio", () => {
  itReadsSamples(composio, {
    GITHUB_COMMIT_EVENT: {
      event: "GITHUB_COMMIT_EVENT",
      message: [
        "Composio: github commit event",
        "commit_sha: a1b2c3d",
        "message: fix: close the login form",
        "author: ada",
        "User: user-id-123435",
        "Connected account: ca_def456",
        "Trigger: ti_xyz789",
        "At: 2026-11-20T11:59:58.000Z",
      ],
    },
    "composio.connected_account.expired": {
      event: "composio.connected_account.expired",
      message: [
        "Composio: connected account expired",
        "id: ca_def456",
        'toolkit: {"slug":"github"}',
        "status: EXPIRED",
        "user_id: user-id-123435",
        "At: 2026-11-20T11:59:59.000Z",
      ],
    },
  });

  it("takes a signature over id, time and body, whose key is the secret as it is written", async () => {
    const seconds = String(NOW / 1_000);
    const sign = (body: Uint8Array, key: string | Buffer) =>
      `v1,${createHmac("sha256", key).update(`msg_1.${seconds}.`).update(body).digest("base64")}`;
    const call = sampleCall(composio, "GITHUB_COMMIT_EVENT", (body) => ({
      "webhook-id": "msg_1",
      "webhook-timestamp": seconds,
      "webhook-signature": sign(body, SECRET),
    }));
    const verify = (changes: object, headers: object = {}) =>
      verifyCall(composio, { ...call, ...changes, headers: { ...call.headers, ...headers } }, { secrets: [SECRET] });
    const first = await verify({});
    expect(first.ok).toBe(true);
    expect(await verify({}, { "webhook-signature": `v1,AAAA ${sign(call.body, SECRET)}` })).toEqual(first);
    const decoded = Buffer.from(SECRET.slice(6), "base64");
    for (const refused of [
      verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) }),
      verify({}, { "webhook-signature": sign(call.body, decoded) }),
      verify({}, { "webhook-id": "msg_2" }),
      verify({ receivedAt: NOW + 301_000 }),
    ]) {
      expect((await refused).ok).toBe(false);
    }
  });
});
