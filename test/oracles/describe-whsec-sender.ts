import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import type { SignedRequest } from "../../src/auth/signatures/sign-request.ts";
import type { Preset } from "../../src/presets/preset.ts";
import { NOW, receivedCall, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";
import type { VectorRecorder } from "./record-vectors.ts";

/** A request as an SDK takes it. */
export interface SdkRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WhsecSender {
  readonly preset: Preset;
  /** Name of the SDK's package. */
  readonly library: string;
  /** Beginning of the names of the three headers. */
  readonly prefix: "webhook" | "svix";
  /** Runs the SDK's own verification; throws or rejects when it refuses. */
  readonly verify: (request: SdkRequest, secret: string) => unknown;
  /** The SDK's own signature; absent where it only verifies. */
  readonly sign?: (id: string, at: Date, body: string, secret: string) => string;
  /** What the SDK accepts although no sender writes it so; we never do. */
  readonly laxer?: readonly Oddity[];
}

/** 32 bytes, made up for these tests. */
const SECRET = "whsec_ZmFrZS1zZWNyZXQtb2YtMzItYnl0ZXMtZm9yLXRlc3Q=";
const NEW_SECRET = "whsec_YW5vdGhlci1mYWtlLXNlY3JldC1vZi0zMi1ieXRlcyE=";
const ID = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
const SECONDS = NOW / 1_000;

/** Ways to write a header that are none of the specification's; `right` is the good signature with `v1,`. */
const ODDITIES = {
  "a signature without its version": ({ right }) => ({ signature: right.slice(3) }),
  "a signature of another version": ({ right }) => ({ signature: `v2${right.slice(2)}` }),
  "a version without a signature": () => ({ signature: "v1," }),
  "the beginning of a signature": ({ right }) => ({ signature: right.slice(0, 20) }),
  "a signature with something appended": ({ right }) => ({ signature: `${right}AAAA` }),
  "signatures with a comma between them": ({ right }) => ({ signature: `v1,AAAA,${right}` }),
  "an empty header": () => ({ signature: "" }),
  "a time with letters behind it": ({ right }) => ({ signature: right, timestamp: `${SECONDS}abc` }),
  "a time with a fraction": ({ right }) => ({ signature: right, timestamp: `${SECONDS}.5` }),
} as const satisfies Record<string, (made: { right: string }) => { signature: string; timestamp?: string }>;

export type Oddity = keyof typeof ODDITIES;

/**
 * Holds a preset whose scheme is that of Standard Webhooks against the SDK of its sender, in both directions.
 * Returns what records further vectors of the same sender.
 */
export function describeWhsecSender(sender: WhsecSender): VectorRecorder {
  const { preset, prefix, verify, sign = signByLibrary, laxer = [] } = sender;
  const recorder = recordVectors(preset, sender.library);
  const samples = Object.entries(preset.samples);
  const body = JSON.stringify(samples[0]![1].payload);

  const request = (made: { id?: string; timestamp?: string; signature: string; body?: string }): SdkRequest => ({
    headers: {
      "content-type": "application/json",
      [`${prefix}-id`]: made.id ?? ID,
      [`${prefix}-timestamp`]: made.timestamp ?? String(SECONDS),
      [`${prefix}-signature`]: made.signature,
    },
    body: made.body ?? body,
  });
  const received = (sent: SdkRequest, receivedAt = NOW) =>
    receivedCall(
      { url: `https://gateway.example.com/hooks/${preset.name}`, headers: sent.headers, body: Buffer.from(sent.body) },
      { receivedAt },
    );

  const bothSay = (sent: SdkRequest) =>
    recorder.judge(received(sent), { secrets: [SECRET] }, async () => void (await verify(sent, SECRET)));
  const markOf = async (sent: SdkRequest, secrets = [SECRET]) => {
    const verification = await verifyCall(preset, received(sent), { secrets });
    return verification.ok ? Buffer.from(verification.replay!.digest).toString("hex") : undefined;
  };
  const fromOurs = (signed: SignedRequest): SdkRequest => ({
    headers: signed.headers,
    body: Buffer.from(signed.body).toString(),
  });

  const right = sign(ID, new Date(NOW), body, SECRET);

  describe(`what the SDK of ${preset.title} says`, () => {
    it("is accepted when it signs", async () => {
      expect(await bothSay(request({ signature: right }))).toEqual({ we: true, sdk: true });
    });

    it.each(samples)("is that the sample %s is signed right", async (_, sample) => {
      const sent = fromOurs(signSample(preset, sample, { secrets: [SECRET], key: SECRET, id: ID }));
      expect(await bothSay(sent)).toEqual({ we: true, sdk: true });
    });

    it("is accepted in any language of the body", async () => {
      const text = JSON.stringify({ type: "a.b", data: { name: "Łukasz 🚀 \u2028" } });
      const signature = sign(ID, new Date(NOW), text, SECRET);
      expect(await bothSay(request({ signature, body: text }))).toEqual({ we: true, sdk: true });
    });

    it("is accepted among several signatures, whichever is right", async () => {
      const other = sign(ID, new Date(NOW), body, NEW_SECRET);
      for (const signature of [`${other} ${right}`, `${right} ${other}`, `v1a,AAAA ${right}`]) {
        expect(await bothSay(request({ signature }))).toEqual({ we: true, sdk: true });
      }
    });

    it("is accepted for either of two secrets while one replaces the other", async () => {
      const sent = request({ signature: sign(ID, new Date(NOW), body, NEW_SECRET) });
      const either = { secrets: [SECRET, NEW_SECRET] };
      // The SDK knows one secret: the new one, once it has been changed.
      const verdicts = recorder.judge(received(sent), either, async () => void (await verify(sent, NEW_SECRET)));
      expect(await verdicts).toEqual({ we: true, sdk: true });
      expect(await bothSay(sent)).toEqual({ we: false, sdk: false });
    });

    it.each([-300, 300])("is accepted at the edge of the tolerance: %d seconds", async (seconds) => {
      const at = new Date(NOW + seconds * 1_000);
      const sent = request({ timestamp: String(SECONDS + seconds), signature: sign(ID, at, body, SECRET) });
      expect(await bothSay(sent)).toEqual({ we: true, sdk: true });
    });

    it.each([-301, 301])("is refused by both beyond it: %d seconds", async (seconds) => {
      const at = new Date(NOW + seconds * 1_000);
      const sent = request({ timestamp: String(SECONDS + seconds), signature: sign(ID, at, body, SECRET) });
      expect(await bothSay(sent)).toEqual({ we: false, sdk: false });
    });

    it.each<[string, Parameters<typeof request>[0]]>([
      ["a flipped byte of the body", { signature: right, body: body.replace("a", "b") }],
      ["a byte more", { signature: right, body: `${body}\n` }],
      ["another id", { signature: right, id: "msg_other" }],
      ["another time", { signature: right, timestamp: String(SECONDS - 1) }],
      ["a flipped byte of the signature", { signature: right.replace(/.=$/, right.endsWith("A=") ? "E=" : "A=") }],
      ["a signature of its own", { signature: sign(ID, new Date(NOW), body, NEW_SECRET) }],
      [
        "a signature of its own for another body, appended to the right one",
        { signature: `${right} ${sign(ID, new Date(NOW), "{}", NEW_SECRET)}`, body: "{}" },
      ],
    ])("is refused by both with %s", async (_, made) => {
      expect(await bothSay(request(made))).toEqual({ we: false, sdk: false });
    });

    it.each(Object.keys(ODDITIES) as Oddity[])("is refused by us with %s", async (oddity) => {
      const sent = request(ODDITIES[oddity]({ right }));
      expect(await bothSay(sent)).toEqual({ we: false, sdk: laxer.includes(oddity) });
    });

    it.each(["id", "timestamp", "signature"])("is refused by both without the header for the %s", async (name) => {
      const sent = request({ signature: right });
      const headers = Object.fromEntries(Object.entries(sent.headers).filter(([key]) => key !== `${prefix}-${name}`));
      expect(await bothSay({ ...sent, headers })).toEqual({ we: false, sdk: false });
    });

    it("is accepted a second time, which we recognize however it is written", async () => {
      const sent = request({ signature: right });
      const again = request({ signature: `v1,AAAA ${right} ${sign(ID, new Date(NOW), body, NEW_SECRET)}` });
      expect(await bothSay(sent)).toEqual({ we: true, sdk: true });
      expect(await bothSay(again)).toEqual({ we: true, sdk: true });
      expect(await markOf(sent)).toMatch(/^[0-9a-f]{64}$/);
      expect(await markOf(again)).toBe(await markOf(sent));
      expect(await markOf(again, [NEW_SECRET, SECRET])).toBe(await markOf(sent));
      const next = request({ id: "msg_next", signature: sign("msg_next", new Date(NOW), body, SECRET) });
      expect(await markOf(next)).not.toBe(await markOf(sent));
    });
  });
  return recorder;
}

function signByLibrary(id: string, at: Date, body: string, secret: string): string {
  return new Webhook(secret).sign(id, at, body);
}
