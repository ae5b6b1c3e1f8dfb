import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { monday } from "../../../../src/presets/senders/monday.ts";
import { NOW, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-path-secret-of-acme";

describe("the preset monday", () => {
  itReadsSamples(monday, {
    create_pulse: {
      event: "create_pulse",
      deliveryId: "b5ed2e17c530f43668de130142445cba",
      sender: {
        name: "user 9603417",
        id: "9603417",
        bot: false,
      },
      message: [
        "monday.com: create pulse by user 9603417: Renew the certificate",
        "Group: Group Title",
        "At: 2026-11-20T11:59:58.210Z",
        "Ids: board 1771812698, item 1772099344",
      ],
    },
    update_column_value: {
      event: "update_column_value",
      deliveryId: "504b2eb76c80f672a18f892c0f700e41",
      sender: {
        name: "user 9603417",
        id: "9603417",
        bot: false,
      },
      message: [
        "monday.com: update column value by user 9603417: Renew the certificate",
        "Status: Working on it -> Done",
        "At: 2026-11-20T11:59:58.210Z",
        "Ids: board 1771812698, item 1772099344",
      ],
    },
    create_update: {
      event: "create_update",
      deliveryId: "6119292e2eb75ae6b6f6d6e9d6d6f3b2",
      sender: {
        name: "user 9603417",
        id: "9603417",
        bot: false,
      },
      message: [
        "monday.com: create update by user 9603417",
        "Text: Who renews it?",
        "At: 2026-11-20T11:59:58.210Z",
        "Ids: board 1771812698, item 1772099344, update 1190616585",
      ],
    },
  });

  it("takes the secret in the path, and for webhooks of an app a token that has an end", async () => {
    const call = sampleCall(monday, "create_pulse", () => ({}));
    const inPath = (pathSecret: string | undefined) =>
      verifyCall(monday, { ...call, pathSecret }, { secrets: [SECRET] });
    expect((await inPath(SECRET)).ok).toBe(true);
    expect((await inPath("another")).ok).toBe(false);
    expect((await inPath(undefined)).ok).toBe(false);

    const token = (claims: Readonly<Record<string, unknown>>, secret = SECRET): Promise<string> =>
      new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(secret));
    const byApp = async (authorization: string) =>
      verifyCall(
        monday,
        { ...call, headers: { ...call.headers, authorization } },
        { secrets: [SECRET], settings: { app: true } },
      );
    const claims = { accountId: 1825529, userId: 4012689, exp: NOW / 1_000 + 300 };
    expect((await byApp(await token(claims))).ok).toBe(true);
    expect((await byApp(await token(claims, "another-secret-of-acme"))).ok).toBe(false);
    expect((await byApp(await token({ ...claims, exp: NOW / 1_000 - 300 }))).ok).toBe(false);
    expect((await byApp(await token({ accountId: 1 }))).ok).toBe(false);
  });

  it("shows values of columns that it does not know as JSON", () => {
    const event = { type: "update_column_value", columnTitle: "Files", value: { files: [{ name: "a.pdf" }] } };
    expect(readSample(monday, { payload: { event } }).message).toContain('Files: {"files":[{"name":"a.pdf"}]}');
  });
});
