import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../../../src/auth/verifier.ts";
import type { Preset } from "../../../../src/presets/preset.ts";
import { sampleBody } from "../../../../src/presets/preset.ts";
import { mailgunInbound } from "../../../../src/presets/senders/mailgun-inbound.ts";
import { mailgun } from "../../../../src/presets/senders/mailgun.ts";
import { NOW, PUBLIC_URL, readSample, receivedCall, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const KEY = "key-invented-for-these-tests";
const TOKEN = "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0";

/** As documentation.mailgun.com says: the hexadecimal HMAC-SHA256 of time and token, one after the other. */
function signature(changes: { token?: string; at?: number; key?: string } = {}) {
  const { token = TOKEN, at = NOW, key = KEY } = changes;
  const timestamp = String(at / 1_000);
  return {
    timestamp,
    token,
    signature: createHmac("sha256", key)
      .update(timestamp + token)
      .digest("hex"),
  };
}

type Signature = ReturnType<typeof signature>;

/** The first sample of a preset with a signature in its body. */
function signedCall(preset: Preset, signed: Partial<Signature>, more: object = {}): IncomingRequest {
  const sample = Object.values(preset.samples)[0]!;
  const payload = sample.payload as object;
  const changed = preset === mailgun ? { ...payload, signature: signed, ...more } : { ...payload, ...signed, ...more };
  const { body, contentType } = sampleBody({ ...sample, payload: changed });
  return receivedCall({ url: `${PUBLIC_URL}/hooks/${preset.name}`, headers: { "content-type": contentType }, body });
}

const verify = (preset: Preset, call: IncomingRequest) => verifyCall(preset, call, { secrets: [KEY] });

async function replayKeyOf(preset: Preset, call: IncomingRequest): Promise<string> {
  const verified = await verify(preset, call);
  if (!verified.ok || verified.replay === undefined) throw new Error("the call is refused or leaves no replay key");
  return Buffer.from(verified.replay.digest).toString("hex");
}

describe.each([mailgun, mailgunInbound])("the signature of $name", (preset) => {
  it("is one over time and token", async () => {
    expect((await verify(preset, signedCall(preset, signature()))).ok).toBe(true);
    const { signature: right, ...rest } = signature();
    for (const wrong of [
      { ...rest },
      { ...rest, signature: "" },
      { ...rest, signature: right.slice(2) },
      { ...rest, signature: right, token: TOKEN.slice(1) },
      { ...rest, signature: right, timestamp: String(NOW / 1_000 + 1) },
      signature({ key: "another-key-of-these-tests" }),
    ]) {
      expect((await verify(preset, signedCall(preset, wrong))).ok).toBe(false);
    }
  });

  it("holds for as long as Mailgun tries again, and no longer", async () => {
    const hours = (count: number) => signature({ at: NOW - count * 3_600_000 });
    expect((await verify(preset, signedCall(preset, hours(9)))).ok).toBe(true);
    expect((await verify(preset, signedCall(preset, hours(11)))).ok).toBe(false);
    expect((await verify(preset, signedCall(preset, signature({ at: NOW + 600_000 })))).ok).toBe(false);
  });

  it("leaves the replay key of its token, whatever body comes with it", async () => {
    const key = await replayKeyOf(preset, signedCall(preset, signature()));
    expect(await replayKeyOf(preset, signedCall(preset, signature(), { subject: "another" }))).toBe(key);
    expect(await replayKeyOf(preset, signedCall(preset, signature({ token: "b".repeat(50) })))).not.toBe(key);
  });
});

describe("the preset mailgun", () => {
  const ofShop = ["Subject: Your order", "From: Shop <shop@example.com>"];
  const ids = ["Message id: 20261120115950.1.6FE7@mail.example.com", "At: 2026-11-20 11:59 UTC"];
  itReadsSamples(mailgun, {
    "failed.permanent": {
      event: "failed.permanent",
      deliveryId: "G9Bn5sl1TC6nu79C8C0bwg",
      message: [
        "Mailgun: failed permanent for the mail to ada@example.net",
        ...ofShop,
        "Reason: Not delivering to previously bounced address",
        "Code: 605",
        ...ids,
      ],
    },
    complained: {
      event: "complained",
      deliveryId: "ncV2XwymRUKbPek_MIM-Gw",
      message: ["Mailgun: complained for the mail to ada@example.net", ...ofShop, ...ids],
    },
    clicked: {
      event: "clicked",
      deliveryId: "Ase7i2zsRYeDXztHGENqRA",
      message: [
        "Mailgun: clicked for the mail to ada@example.net",
        ...ofShop,
        "Link: https://shop.example.com/orders/1007",
        ...ids,
      ],
    },
  });
});

describe("the preset mailgun-inbound", () => {
  itReadsSamples(mailgunInbound, {
    mail: {
      event: "mail.received",
      deliveryId: "<CAF=ada-2@mail.example.com>.support@in.example.com",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "New mail from Ada Byron <ada@example.com>: Re: Your order 1007",
        "To: Support <support@in.example.com>",
        "Date: Fri, 20 Nov 2026 12:59:50 +0100",
        "Message id: <CAF=ada-2@mail.example.com>",
        "In reply to: <order-1007@shop.example.com>",
        "References: <order-1007@shop.example.com>",
        "Checks: SPF pass, DKIM pass",
        "Where is it?",
      ],
    },
    with_attachment: {
      event: "mail.received",
      deliveryId: "<receipt-1@mail.example.com>.support@in.example.com",
      sender: { name: "grace@example.com", bot: false },
      message: [
        "New mail from grace@example.com: A receipt",
        "To: support@in.example.com",
        "Message id: <receipt-1@mail.example.com>",
        "Attachment: receipt.pdf (application/pdf, 8 bytes)",
        "Please see the receipt.",
      ],
    },
  });

  it("takes no mail for the copy of another that has no Message-Id either", () => {
    const idOf = (payload: object) => readSample(mailgunInbound, { format: "form", payload }).deliveryId;
    expect(idOf({ recipient: "support@in.example.com", subject: "Disk is full" })).toBeUndefined();
    const headers = JSON.stringify([["Message-ID", "<1@example.com>"]]);
    expect(idOf({ recipient: "a@in.example.com", "message-headers": headers })).toBe(
      "<1@example.com>.a@in.example.com",
    );
  });

  it("says that Mailgun takes a mail for spam", () => {
    const headers = JSON.stringify([["X-Mailgun-Sflag", "Yes"]]);
    const payload = { from: "a@example.com", "message-headers": headers };
    expect(readSample(mailgunInbound, { payload }).message).toBe("New mail from a@example.com\nChecks: spam");
  });
});
