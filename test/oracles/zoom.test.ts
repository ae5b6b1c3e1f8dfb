import { createHmac } from "node:crypto";
import { AwsLambdaReceiver } from "@zoom/rivet/accounts";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import { zoom } from "../../src/presets/senders/zoom.ts";
import { receivedCall, NOW, signSample } from "../../src/testing/preset-probe.ts";
import { answerHandshake } from "../unit/presets/answer-handshake.ts";
import { recordVectors } from "./record-vectors.ts";

const SECRET = "invented-secret-token-1";
const SIGNATURE = "x-zm-signature";
const TIME = "x-zm-request-timestamp";

const signed = (name = "meeting.started"): IncomingRequest =>
  receivedCall(signSample(zoom, zoom.samples[name]!, { key: SECRET, secrets: [SECRET] }));
const recorder = recordVectors(zoom, "@zoom/rivet");

/** What a receiver of Zoom's SDK answers: 200, or 400 when it does not know the signature. */
async function rivetAnswer(
  { headers, body }: IncomingRequest,
  webhooksSecretToken = SECRET,
): Promise<{ status: number; body: string }> {
  const event = { body: Buffer.from(body).toString(), headers, isBase64Encoded: false };
  const handle = new AwsLambdaReceiver({ webhooksSecretToken }).start();
  const response = await handle(event, {}, () => undefined);
  return { status: response.statusCode, body: response.body ?? "" };
}

/** The SDK accepts with 200 and refuses with 400; it answers nothing else. */
const bothSay = (call: IncomingRequest, secret = SECRET) =>
  recorder.judge(call, { secrets: [secret] }, async () => {
    const { status } = await rivetAnswer(call, secret);
    expect([200, 400]).toContain(status);
    return status === 200;
  });

function withHeader(call: IncomingRequest, name: string, value: string): IncomingRequest {
  return { ...call, headers: { ...call.headers, [name]: value } };
}

beforeEach(() => {
  // The receiver tells the console of every event.
  vi.spyOn(console, "debug").mockImplementation(() => undefined);
});

describe("zoom against @zoom/rivet", () => {
  it.each(Object.keys(zoom.samples))("both take the sample %s as we sign it", async (name) => {
    expect(await bothSay(signed(name))).toEqual({ we: true, sdk: true });
  });

  it("both refuse another secret", async () => {
    expect(await bothSay(signed(), "another-secret-1")).toEqual({ we: false, sdk: false });
  });

  it("both refuse a changed body", async () => {
    const changed = {
      ...signed(),
      body: Buffer.from(Buffer.from(signed().body).toString().replace("Weekly", "Weakly")),
    };
    expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
  });

  it("both refuse a time that is not the signed one", async () => {
    const changed = withHeader(signed(), TIME, String(NOW / 1_000 + 1));
    expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
  });

  it("both refuse a second signature behind the first", async () => {
    const signature = String(signed().headers[SIGNATURE]);
    const appended = withHeader(signed(), SIGNATURE, `${signature},${signature}`);
    expect(await bothSay(appended)).toEqual({ we: false, sdk: false });
  });

  it("we refuse what the SDK takes: a request of two hours ago", async () => {
    const stale = { ...signed(), receivedAt: NOW + 7_200_000 };
    expect(await bothSay(stale)).toEqual({ we: false, sdk: true });
  });

  it("we refuse what the SDK takes: other bytes that mean the same JSON", async () => {
    const spaced = { ...signed(), body: Buffer.from(` ${Buffer.from(signed().body).toString()}`) };
    expect(await bothSay(spaced)).toEqual({ we: false, sdk: true });
  });

  it("we take what the SDK refuses: bytes as they were signed, spaces and all", async () => {
    const body = Buffer.from(JSON.stringify(zoom.samples["meeting.started"]!.payload, null, 1));
    const time = String(NOW / 1_000);
    const signature = createHmac("sha256", SECRET).update(`v0:${time}:${body.toString()}`).digest("hex");
    const call = { ...withHeader(withHeader(signed(), TIME, time), SIGNATURE, `v0=${signature}`), body };
    expect(await bothSay(call)).toEqual({ we: true, sdk: false });
  });

  it("both answer the check of the URL the same", async () => {
    const validation = {
      payload: { event: "endpoint.url_validation", event_ts: 1, payload: { plainToken: "qgg8vlvZRS6" } },
    };
    const call = receivedCall(signSample(zoom, validation, { key: SECRET, secrets: [SECRET] }));
    const ours = await answerHandshake(zoom, call, { secrets: [SECRET] });
    const theirs = await rivetAnswer(call);
    expect(theirs.status).toBe(200);
    const answer: unknown = JSON.parse(theirs.body);
    expect(JSON.parse(ours!.answer.payload)).toEqual(answer);
    recorder.keep(call, { secrets: [SECRET] }, { answer });
  });
});
