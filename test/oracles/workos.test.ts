import { createHmac } from "node:crypto";
import { WorkOS } from "@workos-inc/node";
import { describe, expect, it } from "vitest";
import { workos } from "../../src/presets/senders/workos.ts";
import { NOW, receivedCall, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const SECRET = "made-up-webhook-secret-of-workos";
const sdk = new WorkOS("sk_test_made_up", { clientId: "client_made_up" });
const recorder = recordVectors(workos, "@workos-inc/node");
const SAMPLES = Object.entries(workos.samples);
const BODY = JSON.stringify(SAMPLES[0]![1].payload);

const call = (header: string, body = BODY) =>
  receivedCall({
    url: "https://gateway.example.com/hooks/workos",
    headers: { "content-type": "application/json", "workos-signature": header },
    body: Buffer.from(body),
  });

/** The SDK takes the body as data or as text. */
const bothSay = (header: string, body = BODY) =>
  recorder.judge(call(header, body), { secrets: [SECRET] }, () =>
    sdk.webhooks.constructEvent({ payload: body, sigHeader: header, secret: SECRET }),
  );

async function sdkHeader(time = NOW, secret = SECRET, body = BODY): Promise<string> {
  return `t=${time}, v1=${await sdk.webhooks.computeSignature(time, body, secret)}`;
}

describe("what the SDK of WorkOS says", () => {
  it("is accepted when it signs, with or without a blank", async () => {
    const header = await sdkHeader();
    expect(await bothSay(header)).toEqual({ we: true, sdk: true });
    expect(await bothSay(header.replace(", ", ","))).toEqual({ we: true, sdk: true });
  });

  it.each(SAMPLES)("is that the sample %s is signed right", async (_, sample) => {
    const signed = signSample(workos, sample, { secrets: [SECRET], key: SECRET });
    const body = Buffer.from(signed.body).toString();
    expect(await bothSay(signed.headers["workos-signature"]!, body)).toEqual({ we: true, sdk: true });
  });

  it("is what the documentation says: hex of an HMAC over time and body", async () => {
    const hex = createHmac("sha256", SECRET).update(`${NOW}.${BODY}`).digest("hex");
    expect(await sdkHeader()).toBe(`t=${NOW}, v1=${hex}`);
  });

  it("is refused by both when it is older than 180 seconds", async () => {
    expect(await bothSay(await sdkHeader(NOW - 180_000))).toEqual({ we: true, sdk: true });
    expect(await bothSay(await sdkHeader(NOW - 180_001))).toEqual({ we: false, sdk: false });
  });

  it("is refused by us alone when it is of the future", async () => {
    expect(await bothSay(await sdkHeader(NOW + 180_000))).toEqual({ we: true, sdk: true });
    expect(await bothSay(await sdkHeader(NOW + 180_001))).toEqual({ we: false, sdk: true });
  });

  it("is refused by both with a flipped byte, another time or another secret", async () => {
    const header = await sdkHeader();
    expect(await bothSay(header, BODY.replace("Ada", "Eve"))).toEqual({ we: false, sdk: false });
    expect(await bothSay(header.replace(`t=${NOW}`, `t=${NOW - 1}`))).toEqual({ we: false, sdk: false });
    expect(await bothSay(header.replace(/.$/, header.endsWith("0") ? "1" : "0"))).toEqual({ we: false, sdk: false });
    expect(await bothSay(await sdkHeader(NOW, "another-made-up-webhook-secret"))).toEqual({ we: false, sdk: false });
  });

  it("is refused by both when an own signature is appended to the right one for another body", async () => {
    const own = createHmac("sha256", "own").update(`${NOW}.{}`).digest("hex");
    expect(await bothSay(`${await sdkHeader()},v1=${own}`, "{}")).toEqual({ we: false, sdk: false });
  });

  it("is refused by us alone when its names are not those of the scheme", async () => {
    const header = await sdkHeader();
    expect(await bothSay(header.replace("v1=", "v0="))).toEqual({ we: false, sdk: true });
    expect(await bothSay(header.replace("t=", "x="))).toEqual({ we: false, sdk: true });
  });

  it.each(["", "t=1", "v1=aa", "garbage"])("is refused by both for the header %j", async (header) => {
    expect(await bothSay(header)).toEqual({ we: false, sdk: false });
  });

  it("is accepted a second time, which we recognize", async () => {
    const header = await sdkHeader();
    const marks = await Promise.all(
      [header, header, header.toUpperCase().replace("T=", "t=").replace("V1=", "v1=")].map(async (each) => {
        const verification = await verifyCall(workos, call(each), { secrets: [SECRET] });
        return verification.ok ? Buffer.from(verification.replay!.digest).toString("hex") : undefined;
      }),
    );
    expect(new Set(marks).size).toBe(1);
    expect(marks[0]).toMatch(/^[0-9a-f]{64}$/);
  });
});
