import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { gitlabSigning } from "../../src/presets/senders/gitlab/gitlab-signing.ts";
import { receivedCall, NOW, signSample } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const SECRET = `whsec_${Buffer.alloc(32, "gitlab").toString("base64")}`;
const ID = "f5e5f430-f57b-4e6e-9fac-d9128cd7232f";
const options = { secrets: [SECRET] };
const library = new Webhook(SECRET);

const recorder = recordVectors(gitlabSigning, "standardwebhooks");

describe.each(Object.entries(gitlabSigning.samples))("%s", (_, sample) => {
  const signed = signSample(gitlabSigning, sample, { key: SECRET, id: ID, ...options });
  const body = Buffer.from(signed.body).toString("utf8");
  const bothSay = (changes: Readonly<Record<string, string>>, bytes: Uint8Array = signed.body) => {
    const headers = { ...signed.headers, ...changes };
    const verify = () => void library.verify(Buffer.from(bytes).toString("utf8"), headers);
    return recorder.judge(receivedCall({ ...signed, headers, body: bytes }), options, verify);
  };

  it("is accepted by both as we sign it", async () => {
    expect(await bothSay({})).toEqual({ we: true, sdk: true });
  });

  it("is accepted by both as the library signs it", async () => {
    expect(await bothSay({ "webhook-signature": library.sign(ID, new Date(NOW), body) })).toEqual({
      we: true,
      sdk: true,
    });
  });

  it("is refused by both with a byte changed", async () => {
    const flipped = Buffer.from(signed.body);
    flipped[5]! ^= 1;
    expect(await bothSay({}, flipped)).toEqual({ we: false, sdk: false });
  });

  it("is refused by both with another id or time than the signed ones", async () => {
    expect(await bothSay({ "webhook-id": "another" })).toEqual({ we: false, sdk: false });
    expect(await bothSay({ "webhook-timestamp": String(NOW / 1_000 + 1) })).toEqual({ we: false, sdk: false });
  });

  it.each([-301, 301])("is refused by both when signed %i seconds from now", async (seconds) => {
    const at = new Date(NOW + seconds * 1_000);
    const changes = {
      "webhook-timestamp": String(at.getTime() / 1_000),
      "webhook-signature": library.sign(ID, at, body),
    };
    expect(await bothSay(changes)).toEqual({ we: false, sdk: false });
  });

  it("is accepted by both while two secrets sign, and refused when neither is ours", async () => {
    const other = new Webhook(`whsec_${Buffer.alloc(32, "other").toString("base64")}`).sign(ID, new Date(NOW), body);
    expect(await bothSay({ "webhook-signature": `${other} ${signed.headers["webhook-signature"]!}` })).toEqual({
      we: true,
      sdk: true,
    });
    expect(await bothSay({ "webhook-signature": `${other} ${other}` })).toEqual({ we: false, sdk: false });
  });

  it("is refused by both without its signature, though id and time come with every webhook of GitLab", async () => {
    expect(await bothSay({ "webhook-signature": "" })).toEqual({ we: false, sdk: false });
  });
});
