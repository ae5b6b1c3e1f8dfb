import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signRequest } from "../../../../src/auth/signatures/sign-request.ts";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import type { IncomingRequest } from "../../../../src/auth/verifier.ts";
import {
  authOf,
  callOf,
  contextOf,
  NOW,
  NOW_SECONDS,
  PUBLIC_URL,
  received,
  verifierOf,
  verify,
} from "./scheme-bench.ts";

const PLAIN: AuthInput = { from: "header:sig", secret: ["old secret", "new secret"], separator: "," };
const TIMED: AuthInput = {
  ...PLAIN,
  content: "{timestamp}.{body}",
  timestamp: { from: "header:ts", toleranceSeconds: 300, futureSeconds: 60 },
};

const hmac = (content: string, secret = "new secret") => createHmac("sha256", secret).update(content).digest("hex");

/** The mark of a request that is verified. */
function markOf(input: AuthInput, changes: Parameters<typeof callOf>[0], route = "sender") {
  const verified = verify(verifierOf(input, contextOf({ route })), callOf({ body: "{}", ...changes }));
  if (!verified.ok) throw new Error(verified.reason);
  return verified.replay && { ...verified.replay, digest: Buffer.from(verified.replay.digest).toString("hex") };
}

const digestOf = (...options: Parameters<typeof markOf>) => markOf(...options)?.digest;
const sent = (sig: string, headers: IncomingRequest["headers"] = {}) => ({ headers: { sig, ...headers } });

describe("the digest of a replay key", () => {
  const digest = digestOf(PLAIN, sent(hmac("{}")));

  it("has 32 bytes", () => {
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ["in capital letters", sent(hmac("{}").toUpperCase())],
    ["before another signature", sent(`${hmac("{}")},${"00".repeat(32)}`)],
    ["behind another signature", sent(`x,${hmac("{}")}`)],
    ["made with another secret of the rotation", sent(hmac("{}", "old secret"))],
    ["beside another delivery id, which is not signed", sent(hmac("{}"), { "x-delivery": "2" })],
    ["called in another way", { ...sent(hmac("{}")), target: "/hooks/other?x=1", method: "PUT" }],
    ["received later", { ...sent(hmac("{}")), receivedAt: NOW + 1_000 }],
  ])("is the same for a copy whose signature is %s", (_, changes) => {
    expect(digestOf(PLAIN, changes)).toBe(digest);
  });

  it("is another for another body, and on another route", () => {
    expect(digestOf(PLAIN, { ...sent(hmac("[]")), body: "[]" })).not.toBe(digest);
    expect(digestOf(PLAIN, sent(hmac("{}")), "other")).not.toBe(digest);
  });

  it("is another at another signed time", () => {
    const at = (ts: string) => digestOf(TIMED, sent(hmac(`${ts}.{}`), { ts }));
    expect(at(String(NOW_SECONDS))).toBe(at(String(NOW_SECONDS)));
    expect(at(String(NOW_SECONDS))).not.toBe(at(String(NOW_SECONDS - 1)));
  });

  it("does not depend on a secret that is part of the content", () => {
    const input: AuthInput = { ...PLAIN, algorithm: "sha256", content: "{secret}{body}" };
    const at = (key: string) => {
      const body = Buffer.from("{}");
      const request = { method: "POST", url: PUBLIC_URL, headers: {}, body, now: NOW, key };
      return digestOf(input, sent(signRequest(authOf(input), request).headers["sig"]!));
    };
    expect(at("old secret")).toBe(at("new secret"));
  });

  it("covers a body that the content does not", () => {
    const input: AuthInput = { ...PLAIN, content: "{method}" };
    const at = (body: string) => digestOf(input, { ...sent(hmac("POST")), body });
    expect(at("[]")).toBe(at("[]"));
    expect(at("[]")).not.toBe(at("{}"));
    expect(at("{}")).not.toBe(digestOf(PLAIN, { ...sent(hmac("POST")), body: "POST" }));
  });

  it.each(["{body:a}{id}", "{crc32}", "{sha256}"])(
    "leaves out the body where %s stands for the delivery",
    (content) => {
      const input: AuthInput = { ...PLAIN, content, id: "header:id" };
      const body = Buffer.from('{"a":1}');
      const request = { method: "POST", url: PUBLIC_URL, headers: {}, body, now: NOW, key: "new secret", id: "1" };
      const call = received(signRequest(authOf(input), request));
      const digest = digestOf(input, { ...call });
      expect(digest).toMatch(/^[0-9a-f]{64}$/);
      const other = { ...call, body: Buffer.from('{"a":1,"b":2}') };
      if (content.includes("{id}")) expect(digestOf(input, other)).toBe(digest);
      else expect(() => digestOf(input, other)).toThrow("no signature matches");
    },
  );

  it("of a form does not change with the order of its fields", () => {
    const input: AuthInput = { ...PLAIN, content: "{form}" };
    const at = (body: string) =>
      digestOf(input, { ...sent(hmac("a1b2"), { "content-type": "application/x-www-form-urlencoded" }), body });
    expect(at("a=1&b=2")).toBe(at("b=2&a=%31"));
  });
});

describe("the expiry of a replay key", () => {
  const ts = String(NOW_SECONDS - 100);
  const at = (input: AuthInput) => markOf(input, sent(hmac(`${ts}.{}`), { ts }))?.expiresAt;

  it("is a second after the time is stale", () => {
    expect(at(TIMED)).toBe((NOW_SECONDS - 100 + 300 + 1) * 1_000);
  });

  it("is a day after a request without a time, or what the configuration says", () => {
    expect(markOf(PLAIN, sent(hmac("{}")))?.expiresAt).toBe(NOW + 86_400_000);
    expect(markOf({ ...PLAIN, replaySeconds: 60 }, sent(hmac("{}")))?.expiresAt).toBe(NOW + 60_000);
  });

  it("is the later one when the configuration says something of a request with a time", () => {
    expect(at({ ...TIMED, replaySeconds: 10 })).toBe((NOW_SECONDS + 201) * 1_000);
    expect(at({ ...TIMED, replaySeconds: 1_000 })).toBe(NOW + 1_000_000);
  });

  it.each(["{body}", "{body}{header:other}"])("is not taken from a time that %s does not cover", (content) => {
    const input: AuthInput = { ...TIMED, content };
    const signed = content === "{body}" ? "{}" : "{}x";
    expect(markOf(input, sent(hmac(signed), { ts, other: "x" }))?.expiresAt).toBe(NOW + 86_400_000);
  });

  it.each([
    ["{body}", "body:ts", `{"ts":"${ts}"}`],
    ["{header:ts}{body}", "header:ts", `${ts}{"ts":"${ts}"}`],
    ["{body:ts}", "body:ts", ts],
  ])("is taken from a time that %s covers at %s", (content, from, signed) => {
    const input: AuthInput = { ...TIMED, content, timestamp: { from } };
    const mark = markOf(input, { ...sent(hmac(signed), { ts }), body: `{"ts":"${ts}"}` });
    expect(mark?.expiresAt).toBe((NOW_SECONDS + 201) * 1_000);
  });

  it("is taken from an id that is a time", () => {
    const input: AuthInput = { ...TIMED, content: "{id}.{body}", id: "header:ts" };
    expect(at(input)).toBe((NOW_SECONDS + 201) * 1_000);
  });
});

it("makes no replay key when the configuration turns it off", () => {
  const verified = verify(verifierOf({ ...PLAIN, replaySeconds: 0 }), callOf({ ...sent(hmac("{}")), body: "{}" }));
  expect(verified).toEqual({ ok: true, credentialId: expect.stringMatching(/^[0-9a-f]{16}$/) as string });
});
