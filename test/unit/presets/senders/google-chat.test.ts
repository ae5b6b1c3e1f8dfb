import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createRemoteKeys } from "../../../../src/auth/keys/remote-keys.ts";
import { googleChat } from "../../../../src/presets/senders/google/google-chat.ts";
import { NOW, readSample, receivedCall, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { keepingLogger } from "../../auth/keys/key-server.ts";
import { keySet, makeKey, type ProviderKey, signToken } from "../../auth/keys/make-token.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { PATIENT_BOUNDS } from "../../auth/keys/patient-bounds.ts";

const CHAT = "chat@system.gserviceaccount.com";
const NUMBER = "1234567890";
const URL_OF_ROUTE = "https://gateway.example.com/hooks/google-chat";

const answer = { status: 200, contentType: "application/json", body: "{}" };
const sender = { name: "Ada Byron", id: "ada@example.com", bot: false };
const USER = "User: users/12345678901234567890";

describe("the preset google-chat", () => {
  itReadsSamples(googleChat, {
    MESSAGE: {
      event: "MESSAGE",
      deliveryId: "spaces/AAAAAAAAAAA/messages/CCCCCCCCCCC",
      sender,
      answer,
      message: [
        "Google Chat: Ada Byron wrote in Operations",
        "restart the staging server",
        "Space: spaces/AAAAAAAAAAA",
        "Thread: spaces/AAAAAAAAAAA/threads/BBBBBBBBBBB",
        "Message: spaces/AAAAAAAAAAA/messages/CCCCCCCCCCC",
        USER,
      ],
    },
    ADDED_TO_SPACE: {
      event: "ADDED_TO_SPACE",
      sender,
      answer,
      message: ["Google Chat: Ada Byron added the app in Operations", "Space: spaces/AAAAAAAAAAA", USER],
    },
    add_on_message: {
      event: "MESSAGE",
      deliveryId: "spaces/AAAAAAAAAAA/messages/DDDDDDDDDDD",
      sender,
      answer,
      message: [
        "Google Chat: Ada Byron wrote in Operations",
        "Thanks",
        "Space: spaces/AAAAAAAAAAA",
        "Thread: spaces/AAAAAAAAAAA/threads/BBBBBBBBBBB",
        "Message: spaces/AAAAAAAAAAA/messages/DDDDDDDDDDD",
        USER,
      ],
    },
  });

  it.each([
    ["CARD_CLICKED", "clicked on a card"],
    ["REMOVED_FROM_SPACE", "removed the app"],
    ["APP_COMMAND", "used the app"],
  ])("says what %s is", (type, happened) => {
    const payload = {
      type,
      user: { displayName: "Ada" },
      common: { invokedFunction: "approve", parameters: { order: "7" } },
    };
    expect(readSample(googleChat, { payload }).message).toBe(`Google Chat: Ada ${happened}\norder: 7\nAction: approve`);
  });

  it("shows what was entered in a form", () => {
    const formInputs = {
      name: { stringInputs: { value: ["Kai", "Bo"] } },
      day: { dateInput: { msSinceEpoch: "1795132800000" } },
    };
    const { message } = readSample(googleChat, { payload: { type: "CARD_CLICKED", common: { formInputs } } });
    expect(message).toBe(
      'Google Chat: someone clicked on a card\nname: Kai, Bo\nday: {"dateInput":{"msSinceEpoch":"1795132800000"}}',
    );
  });

  it("tells two clicks on one card from each other, and from the same click again", () => {
    const click = (second: number) => ({
      type: "CARD_CLICKED",
      eventTime: `2026-11-20T11:59:0${second}.250879Z`,
      user: { name: "users/1", displayName: "Ada" },
      message: { name: "spaces/A/messages/CARD" },
    });
    const idOf = (payload: object) => readSample(googleChat, { payload }).deliveryId;
    expect(idOf(click(1))).toBe("CARD_CLICKED/2026-11-20T11:59:01.250879Z/users/1/spaces/A/messages/CARD");
    expect(idOf(click(1))).toBe(idOf(click(1)));
    expect(idOf(click(2))).not.toBe(idOf(click(1)));
    expect(idOf({ ...click(1), eventTime: undefined })).toBeUndefined();
  });
});

describe("the token of Google Chat", () => {
  let key: ProviderKey;
  let another: ProviderKey;
  beforeAll(async () => {
    [key, another] = await Promise.all([makeKey("chat-key"), makeKey("chat-key")]);
  });

  async function verify(
    settings: { audience: string; serviceAccount?: string },
    claims: Record<string, unknown>,
    signer = key,
  ) {
    const jwksUrl = googleChat.auth(settings).jwksUrl;
    const fetch = (url: string) =>
      Promise.resolve({
        status: url === jwksUrl ? 200 : 404,
        headers: {},
        body: Buffer.from(JSON.stringify(keySet(key))),
      });
    const remoteKeys = createRemoteKeys({
      clock: { now: () => NOW },
      logger: keepingLogger(),
      bounds: PATIENT_BOUNDS,
      fetch,
    });
    onTestFinished(() => remoteKeys.close());
    const token = await signToken(signer, { now: NOW, claims });
    const signed = signSample(googleChat, googleChat.samples["MESSAGE"]!, { settings, key: token });
    return (await verifyCall(googleChat, receivedCall(signed), { settings, remoteKeys })).ok;
  }

  it("is one of Chat itself for a project's number", async () => {
    const settings = { audience: NUMBER };
    expect(googleChat.auth(settings).jwksUrl).toBe(`https://www.googleapis.com/service_accounts/v1/jwk/${CHAT}`);
    expect(await verify(settings, { iss: CHAT, aud: NUMBER })).toBe(true);
    expect(await verify(settings, { iss: CHAT, aud: "9876543210" })).toBe(false);
    expect(await verify(settings, { iss: "https://accounts.google.com", aud: NUMBER })).toBe(false);
    expect(await verify(settings, { iss: CHAT, aud: NUMBER }, another)).toBe(false);
  });

  it("is an ID token for Chat's account for the URL of the route", async () => {
    const settings = { audience: URL_OF_ROUTE };
    const claims = { iss: "https://accounts.google.com", aud: URL_OF_ROUTE, email: CHAT, email_verified: true };
    expect(await verify(settings, claims)).toBe(true);
    expect(await verify(settings, { ...claims, email: "someone@example.com" })).toBe(false);
    expect(await verify(settings, { ...claims, email_verified: false })).toBe(false);
    expect(await verify(settings, { ...claims, aud: NUMBER })).toBe(false);
  });

  it("is an ID token for the app's own account where the app is a Workspace add-on", async () => {
    const account = `service-${NUMBER}@gcp-sa-gsuiteaddons.iam.gserviceaccount.com`;
    const settings = { audience: URL_OF_ROUTE, serviceAccount: account };
    const claims = { iss: "https://accounts.google.com", aud: URL_OF_ROUTE, email: account, email_verified: true };
    expect(await verify(settings, claims)).toBe(true);
    expect(await verify(settings, { ...claims, email: account.replace(NUMBER, "9876543210") })).toBe(false);
    expect(await verify(settings, { ...claims, email: CHAT })).toBe(false);
    expect(await verify({ audience: URL_OF_ROUTE }, claims)).toBe(false);
  });
});
