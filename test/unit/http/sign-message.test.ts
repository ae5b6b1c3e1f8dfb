import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { messageId, signMessage } from "../../../src/http/sign-message.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const id = "msg_1";
const body = '{"text":"caf\u00e9 \u2028 \ud83d\ude00"}';

describe("signMessage", () => {
  it("is verified by the reference library, and refused for another body", () => {
    const headers = signMessage(body, { id, atMs: Date.now(), secret });
    expect(new Webhook(secret).verify(body, { ...headers })).toEqual(JSON.parse(body));
    expect(() => new Webhook(secret).verify(`${body} `, { ...headers })).toThrow("No matching signature");
  });

  it("signs as the reference library does", () => {
    const at = new Date("2026-02-27T10:00:00.999Z");
    const headers = signMessage(body, { id, atMs: at.getTime(), secret });
    expect(headers).toEqual({
      "webhook-id": id,
      "webhook-timestamp": "1772186400",
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    });
  });

  it("takes a secret without its prefix, as the reference library does", () => {
    const bare = secret.slice("whsec_".length);
    const at = new Date();
    expect(signMessage(body, { id, atMs: at.getTime(), secret: bare })["webhook-signature"]).toBe(
      new Webhook(bare).sign(id, at, body),
    );
  });
});

describe("messageId", () => {
  it("is the same for the same key, differs between keys, and shows nothing of it", () => {
    expect(messageId("run-1")).toBe(messageId("run-1"));
    expect(messageId("run-1")).not.toBe(messageId("run-2"));
    expect(messageId("run-1")).toMatch(/^msg_[0-9a-f]{32}$/);
  });
});
