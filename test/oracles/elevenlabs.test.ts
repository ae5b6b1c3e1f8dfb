import { createHmac } from "node:crypto";
import { ElevenLabsClient } from "@elevenlabs/elevenlabs-js";
import { describe, expect, it } from "vitest";
import { elevenlabs } from "../../src/presets/senders/elevenlabs.ts";
import { NOW, receivedCall, signSample } from "../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";

/** The key is the whole of it, with its prefix. */
const SECRET = "wsec_0000000000000000000000000000000000000000000000000000000000000000";
const SECONDS = NOW / 1_000;
const SAMPLES = Object.entries(elevenlabs.samples);
const BODY = JSON.stringify(SAMPLES[0]![1].payload);

/** As ElevenLabs documents it: hex of an HMAC-SHA256 over `t.body`, made here without any of our code. */
const headerOf = (seconds = SECONDS, secret = SECRET, body = BODY) =>
  `t=${seconds},v0=${createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex")}`;

const bothSay = (header: string, body = BODY) => {
  const headers = { "content-type": "application/json", "elevenlabs-signature": header };
  const call = receivedCall({ url: "https://gateway.example.com/hooks/elevenlabs", headers, body: Buffer.from(body) });
  return recorder.judge(call, { secrets: [SECRET] }, () => webhooks.constructEvent(body, header, SECRET));
};

const { webhooks } = new ElevenLabsClient({ apiKey: "nothing is called" });

// The library only verifies; what it is given is signed as documented.
const recorder = describeOracle({
  preset: elevenlabs,
  library: "@elevenlabs/elevenlabs-js",
  secret: SECRET,
  header: "elevenlabs-signature",
  sign: ({ body }, now) => ({ "elevenlabs-signature": headerOf(now / 1_000, SECRET, body) }),
  accepts: ({ body, headers }) => webhooks.constructEvent(body, headers["elevenlabs-signature"] ?? "", SECRET),
  staleAfter: { ours: 3_000, theirs: 1_800 },
  ahead: { ours: 300, theirs: "any" },
  appended: { write: (value) => `${value},v0=${"0".repeat(64)}`, ours: true, theirs: true },
});

describe("the signature of ElevenLabs", () => {
  it("is accepted as documented", async () => {
    expect(await bothSay(headerOf())).toEqual({ we: true, sdk: true });
  });

  it.each(SAMPLES)("is made right for the sample %s", (_, sample) => {
    const signed = signSample(elevenlabs, sample, { secrets: [SECRET], key: SECRET });
    const body = Buffer.from(signed.body).toString();
    expect(signed.headers["elevenlabs-signature"]).toBe(headerOf(SECONDS, SECRET, body));
  });

  it.each<[number, boolean, boolean]>([
    [-1_800, true, true],
    [-1_801, true, false],
    [300, true, true],
    [301, false, true],
  ])("of %d seconds from now is accepted by us: %s, and by the library: %s", async (seconds, we, sdk) => {
    expect(await bothSay(headerOf(SECONDS + seconds))).toEqual({ we, sdk });
  });

  it.each<[string, string, string]>([
    ["a flipped byte", headerOf(), BODY.replace("Ada", "Eve")],
    ["another time", headerOf().replace(String(SECONDS), String(SECONDS - 1)), BODY],
    ["another secret", headerOf(SECONDS, "wsec_other"), BODY],
    ["a secret without its prefix", headerOf(SECONDS, SECRET.slice(5)), BODY],
    ["another version", headerOf().replace("v0=", "v1="), BODY],
    ["an own signature appended", `${headerOf()},${headerOf(SECONDS, "own", "{}")}`, "{}"],
    ["no header to speak of", "garbage", BODY],
  ])("is refused by both with %s", async (_, header, body) => {
    expect(await bothSay(header, body)).toEqual({ we: false, sdk: false });
  });
});
