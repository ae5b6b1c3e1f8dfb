import { createSign } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { SignedRequest } from "../../../src/auth/signatures/sign-request.ts";
import type { Verification } from "../../../src/auth/verifier.ts";
import { sampleBody } from "../../../src/presets/preset.ts";
import { paypal } from "../../../src/presets/senders/paypal.ts";
import { NOW, receivedCall, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";
import { makeRsaCertificate } from "../../unit/auth/keys/make-certificate.ts";

const WEBHOOK_ID = "9XL90610J3647323C";
const CERT_URL = "https://api.paypal.com/v1/notifications/certs/CERT-sample";
const sample = paypal.samples["PAYMENT.CAPTURE.COMPLETED"]!;
const { body } = sampleBody(sample);
const { pem, key: privateKey } = makeRsaCertificate({ commonName: "messageverificationcerts.paypal.com" });
const DAY = 86_400_000;

interface Changes {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly late?: number;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly certificate?: string | undefined;
  readonly fetched?: string[];
}

/** A request as PayPal documents it, signed here and not by the code under test. */
function sent({ webhookId = WEBHOOK_ID, time = "2026-11-20T12:00:00Z", key = privateKey } = {}): SignedRequest {
  const id = sample.headers!["paypal-transmission-id"]!;
  const content = `${id}|${time}|${webhookId}|${crc32(body)}`;
  return {
    url: "https://gateway.example.com/hooks/paypal",
    headers: {
      ...sample.headers,
      "content-type": "application/json",
      "paypal-transmission-time": time,
      "paypal-transmission-sig": createSign("sha256").update(content).sign(key, "base64"),
    },
    body,
  };
}

function verify(signed: SignedRequest, changes: Changes = {}): Promise<Verification> {
  const headers = { ...signed.headers, ...changes.headers };
  const call = receivedCall(
    { ...signed, headers, body: changes.body ?? signed.body },
    { receivedAt: NOW + (changes.late ?? 0) },
  );
  return verifyCall(paypal, call, {
    settings: changes.settings ?? { webhookId: WEBHOOK_ID },
    remoteKeys: {
      certificate(url) {
        changes.fetched?.push(url);
        return Promise.resolve("certificate" in changes ? changes.certificate : pem);
      },
    },
  });
}

const takes = async (signed: SignedRequest, changes?: Changes) => (await verify(signed, changes)).ok;

describe("PayPal", () => {
  it("takes what is signed as PayPal documents it", async () => {
    const fetched: string[] = [];
    expect(await takes(sent(), { fetched })).toBe(true);
    expect(fetched).toEqual([CERT_URL]);
  });

  it.each(Object.entries(paypal.samples))("signs the sample %s so that it is taken", async (_, sample) => {
    const settings = { webhookId: WEBHOOK_ID };
    expect(await takes(signSample(paypal, sample, { settings, key: privateKey }))).toBe(true);
  });

  it.each([
    ["a body with a byte flipped", { body: Buffer.concat([Buffer.from("}"), body.subarray(1)]) }],
    ["another transmission id", { headers: { "paypal-transmission-id": "b1a9b770-0000-11f0-9f1c-0123456789ab" } }],
    ["another time", { headers: { "paypal-transmission-time": "2026-11-20T12:00:01Z" } }],
    ["a time in another form", { headers: { "paypal-transmission-time": "1795176000" } }],
    ["no signature", { headers: { "paypal-transmission-sig": "" } }],
    [
      "an appended signature",
      { headers: { "paypal-transmission-sig": `${sent().headers["paypal-transmission-sig"]},AAAA` } },
    ],
    ["a webhook of another's", { settings: { webhookId: "0AB12345C6789012D" } }],
    ["no webhook's id", { settings: {} }],
  ] as const)("refuses %s", async (_, changes) => {
    expect(await takes(sent(), changes)).toBe(false);
  });

  it("refuses what the same sender signed for another's webhook", async () => {
    expect(await takes(sent({ webhookId: "0AB12345C6789012D" }))).toBe(false);
  });

  it("refuses what another key signed", async () => {
    expect(
      await takes(sent({ key: makeRsaCertificate({ commonName: "messageverificationcerts.paypal.com" }).key })),
    ).toBe(false);
  });

  it.each([
    ["https://api.paypal.com.evil.example.com/cert"],
    ["https://evil.example.com/cert"],
    ["http://api.paypal.com/cert"],
    ["https://api.paypal.com:8443/cert"],
    ["https://user@api.paypal.com/cert"],
    ["https://api.paypal.com/redirect?to=https://evil.example.com"],
    ["file:///etc/hosts"],
    ["cert"],
  ])("fetches no certificate from %s", async (url) => {
    const fetched: string[] = [];
    expect(await takes(sent(), { headers: { "paypal-cert-url": url }, fetched })).toBe(false);
    expect(fetched).toEqual([]);
  });

  it("takes a certificate of the sandbox", async () => {
    const headers = { "paypal-cert-url": "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-sample" };
    expect(await takes(sent(), { headers })).toBe(true);
  });

  it("says when to come again while the certificate cannot be had", async () => {
    expect(await verify(sent(), { certificate: undefined })).toMatchObject({ ok: false, retryAfterSeconds: 30 });
  });

  it("refuses an expired certificate", async () => {
    const old = makeRsaCertificate({ commonName: "messageverificationcerts.paypal.com", validTo: "201231235959Z" });
    expect(await takes(sent({ key: old.key }), { certificate: old.pem })).toBe(false);
  });

  it("takes a retry of the third day, which carries the time of the first try, and no request of the fifth", async () => {
    expect([await takes(sent(), { late: 3 * DAY }), await takes(sent(), { late: 4 * DAY + 1 })]).toEqual([true, false]);
  });

  it("refuses a time of more than five minutes ahead", async () => {
    expect([await takes(sent(), { late: -300_000 }), await takes(sent(), { late: -300_001 })]).toEqual([true, false]);
  });

  it("knows a second copy again for as long as it would take one", async () => {
    const [first, second] = [await verify(sent()), await verify(sent(), { late: DAY })];
    if (!first.ok || !second.ok) throw new Error("refused");
    expect(second.replay!.digest).toEqual(first.replay!.digest);
    expect(first.replay!.expiresAt).toBeGreaterThanOrEqual(NOW + 4 * DAY);
  });

  it("knows a copy again whose body was changed under the same checksum", async () => {
    const forged = withSameChecksum(body);
    expect(crc32(forged)).toBe(crc32(body));
    expect(forged).not.toEqual(body);
    const [first, second] = [await verify(sent()), await verify(sent(), { body: forged })];
    if (!first.ok || !second.ok) throw new Error("refused");
    expect(second.replay!.digest).toEqual(first.replay!.digest);
  });
});

/** Another body with the CRC-32 of the first: four bytes behind it make up for the difference. */
function withSameChecksum(body: Uint8Array): Uint8Array {
  const target = crc32(body);
  const head = Buffer.from('{"id":"WH-FORGED"}');
  // CRC-32 is linear: each of 32 bits of the tail flips a fixed set of bits of the sum.
  const base = Buffer.concat([head, Buffer.alloc(4)]);
  const start = crc32(base);
  const rows = Array.from({ length: 32 }, (_, bit) => {
    const changed = Buffer.from(base);
    changed[head.length + (bit >> 3)]! ^= 1 << (bit & 7);
    return { sum: (crc32(changed) ^ start) >>> 0, bits: (1 << bit) >>> 0 };
  });
  let wanted = (target ^ start) >>> 0;
  let tail = 0;
  for (let column = 31; column >= 0; column--) {
    const at = rows.findIndex(({ sum }) => sum >>> column === 1);
    if (at === -1) continue;
    const [pivot] = rows.splice(at, 1) as [{ sum: number; bits: number }];
    for (const row of rows) {
      if ((row.sum >>> column) & 1) {
        row.sum = (row.sum ^ pivot.sum) >>> 0;
        row.bits = (row.bits ^ pivot.bits) >>> 0;
      }
    }
    if ((wanted >>> column) & 1) {
      wanted = (wanted ^ pivot.sum) >>> 0;
      tail = (tail ^ pivot.bits) >>> 0;
    }
  }
  base.writeUInt32LE(tail, head.length);
  return base;
}
