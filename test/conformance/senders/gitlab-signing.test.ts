import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { gitlabSigning } from "../../../src/presets/senders/gitlab/gitlab-signing.ts";
import { receivedCall, NOW, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";

const SECRET = `whsec_${Buffer.alloc(32, "gitlab").toString("base64")}`;
const ID = "f5e5f430-f57b-4e6e-9fac-d9128cd7232f";
const options = { secrets: [SECRET] };
const library = new Webhook(SECRET);

// The library compares with the clock; nothing else in these tests does.
beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const accepts = (body: Uint8Array, headers: Readonly<Record<string, string>>): boolean => {
  try {
    library.verify(Buffer.from(body).toString("utf8"), headers);
    return true;
  } catch {
    return false;
  }
};

describe.each(Object.entries(gitlabSigning.samples))("%s", (_, sample) => {
  const signed = signSample(gitlabSigning, sample, { key: SECRET, id: ID, ...options });
  const body = Buffer.from(signed.body).toString("utf8");
  const both = async (changes: Readonly<Record<string, string>>, bytes: Uint8Array = signed.body) => {
    const headers = { ...signed.headers, ...changes };
    const verification = await verifyCall(gitlabSigning, receivedCall({ ...signed, headers, body: bytes }), options);
    return [accepts(bytes, headers), verification.ok];
  };

  it("is accepted by both as we sign it", async () => {
    expect(await both({})).toEqual([true, true]);
  });

  it("is accepted by both as the library signs it", async () => {
    expect(await both({ "webhook-signature": library.sign(ID, new Date(NOW), body) })).toEqual([true, true]);
  });

  it("is refused by both with a byte changed", async () => {
    const flipped = Buffer.from(signed.body);
    flipped[5]! ^= 1;
    expect(await both({}, flipped)).toEqual([false, false]);
  });

  it("is refused by both with another id or time than the signed ones", async () => {
    expect(await both({ "webhook-id": "another" })).toEqual([false, false]);
    expect(await both({ "webhook-timestamp": String(NOW / 1_000 + 1) })).toEqual([false, false]);
  });

  it.each([-301, 301])("is refused by both when signed %i seconds from now", async (seconds) => {
    const at = new Date(NOW + seconds * 1_000);
    const changes = {
      "webhook-timestamp": String(at.getTime() / 1_000),
      "webhook-signature": library.sign(ID, at, body),
    };
    expect(await both(changes)).toEqual([false, false]);
  });

  it("is accepted by both while two secrets sign, and refused when neither is ours", async () => {
    const other = new Webhook(`whsec_${Buffer.alloc(32, "other").toString("base64")}`).sign(ID, new Date(NOW), body);
    expect(await both({ "webhook-signature": `${other} ${signed.headers["webhook-signature"]!}` })).toEqual([
      true,
      true,
    ]);
    expect(await both({ "webhook-signature": `${other} ${other}` })).toEqual([false, false]);
  });

  it("is refused by both without its signature, though id and time come with every webhook of GitLab", async () => {
    expect(await both({ "webhook-signature": "" })).toEqual([false, false]);
  });
});
